import pytest

from flows.runner import Runner
from stages.workers import HERE
from warehouse import BadInputError


def test_without_a_runner_this_process_does_the_work():
    Runner().check()
    with Runner().staff(None, None) as staff:
        assert staff.workers is HERE
        assert staff.task_runner is None


def test_a_scheduler_has_the_address_that_dask_knows_it_by():
    assert Runner("dask://10.0.0.7:8786", "/mnt/shared").address == "tcp://10.0.0.7:8786"
    assert Runner("dask").address is None


@pytest.mark.parametrize("name", ["spark", "dask:", "dask://", "dask://host", "dask://:8786", "dask://host:port", ""])
def test_another_runner_is_no_runner(name):
    with pytest.raises(BadInputError, match="write dask, or dask://HOST:PORT"):
        Runner(name, "/mnt/shared").check()


def test_workers_elsewhere_need_a_folder_that_all_see():
    with pytest.raises(BadInputError, match="needs --scratch"):
        Runner("dask://host:8786").check()


def test_a_scratch_folder_alone_does_nothing():
    with pytest.raises(BadInputError, match="--scratch is for the shards of --runner dask"):
        Runner(scratch="/mnt/shared").check()
