"""A small valid value of a JSON schema."""

from typing import Any

PLAIN = {"string": "x", "number": 0.5, "integer": 1, "boolean": True, "null": None, "array": [], "object": {}}


def fill(schema: Any, definitions: dict[str, Any] | None = None) -> Any:
    """Return the smallest value that is easily found: "x", 0.5, empty lists, every required property.

    Minima of length, number and items are kept; a pattern or a format is not.
    """
    if not isinstance(schema, dict):
        return "x"
    definitions = definitions or schema.get("$defs") or schema.get("definitions") or {}
    if "$ref" in schema:
        return fill(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return fill(schema[choice][0], definitions)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    return _of_kind(kind[0] if isinstance(kind, list) else kind, schema, definitions)


def _of_kind(kind: str, schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: fill(properties[name], definitions) for name in schema.get("required", properties)}
    if kind == "array":
        return [fill(schema.get("items", {}), definitions) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "x" * max(schema.get("minLength", 1), 1)
    if kind in ("number", "integer"):
        return _number(PLAIN[kind], schema)
    return PLAIN.get(kind)


def _number(usual: Any, schema: dict[str, Any]) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", usual))
    high = schema.get("maximum", schema.get("exclusiveMaximum", usual))
    if "exclusiveMinimum" in schema and low >= usual:
        return low + (1 if isinstance(usual, int) else 0.5)
    return low if low > usual else high if high < usual else usual
