"""Tells the language of a text, under the names that WildChat uses."""

from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

# Those of WildChat with more than some hundred conversations: with all 140 that the detector knows,
# short Spanish reads as Galician and short Mandarin as Cantonese.
NAMES = {
    "af": "Afrikaans",
    "ar": "Arabic",
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lv": "Latvian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sr": "Serbian",
    "sv": "Swedish",
    "th": "Thai",
    "tl": "Tagalog",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


@cache
def _identifier() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(sorted(NAMES))
    return identifier


def language_of(text: str) -> str | None:
    """Return the English name of the most likely language, or None for a text without letters."""
    if not any(character.isalpha() for character in text):
        return None
    code, _ = _identifier().classify(text)
    return NAMES[code]
