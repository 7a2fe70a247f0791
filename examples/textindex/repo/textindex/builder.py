"""Build an inverted index over source texts: which word stands in which file, how often, and where first.

A word is a run of ASCII letters and digits, in lower case, with a common ending cut off ("parsers" and
"parsing" meet at "pars"). Short words and stop words are left out.

The index is plain data:

    {"lengths": [words kept in file 0, in file 1, ...],
     "postings": {word: [[file, occurrences, line of the first one], ...], ...}}

Files are numbered in the order they were given; the postings of a word stand in that order.
"""

import re

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"

# A word with fewer characters is not worth finding.
SHORTEST = 2

# Tried in this order; at least STEM_LENGTH characters have to remain.
ENDINGS = [
    "ations", "ation", "ments", "ment", "nesses", "ness", "ables", "able", "ibles", "ible", "ings", "ing", "ities",
    "ity", "ally", "ly", "ers", "er", "ors", "or", "ies", "ied", "ed", "es", "s",
]  # fmt: skip
STEM_LENGTH = 3

STOP_WORDS = [
    "a", "about", "above", "after", "again", "all", "also", "always", "am", "an", "and", "another", "any", "are",
    "as", "at", "away", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can",
    "cannot", "could", "did", "do", "does", "doing", "done", "down", "during", "each", "either", "enough", "even",
    "ever", "every", "few", "first", "for", "from", "further", "get", "got", "had", "has", "have", "having", "he",
    "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just",
    "last", "least", "less", "like", "made", "make", "many", "may", "me", "might", "more", "most", "much", "must",
    "my", "neither", "never", "next", "no", "nor", "not", "now", "of", "off", "often", "on", "once", "one", "only",
    "onto", "or", "other", "our", "out", "over", "own", "per", "quite", "rather", "same", "say", "see", "she",
    "should", "since", "so", "some", "still", "such", "take", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "thus", "to", "too", "two", "under", "unless", "until",
    "up", "upon", "us", "use", "used", "very", "via", "was", "we", "well", "were", "what", "when", "where",
    "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "would", "yet",
    "you", "your",
    # words of the language itself, which stand in every file
    "self", "cls", "def", "return", "none", "true", "false", "import", "class", "else", "elif", "try", "except",
    "raise", "lambda", "yield", "pass", "assert", "global", "nonlocal", "finally", "break", "continue", "del",
    "async", "await", "len", "str", "int", "bool", "float", "list", "dict", "tuple", "set", "bytes", "object",
    "print", "isinstance", "super", "range", "type", "args", "kwargs", "init",
]  # fmt: skip


def is_word_character(character):
    """Say whether a character can stand in a word."""
    return character in LETTERS + LETTERS.upper() + DIGITS


def split_words(text):
    """Cut a text into its words, in lower case: a list of (word, offset of its first character)."""
    words = []
    word = ""
    start = 0
    for offset, character in enumerate(text):
        if is_word_character(character):
            if word == "":
                start = offset
            word = word + character.lower()
        elif word != "":
            words.append((word, start))
            word = ""
    if word != "":
        words.append((word, start))
    return words


def is_stop_word(word):
    """Say whether a word is too common, or too short, to be worth finding."""
    if len(word) < SHORTEST:
        return True
    return word in STOP_WORDS


def stem(word):
    """Cut a common ending off a word, if enough of the word remains."""
    for ending in ENDINGS:
        if word[-len(ending) :] == ending and len(word) - len(ending) >= STEM_LENGTH:
            return word[: -len(ending)]
    return word


def line_of(text, offset):
    """Give the line, counted from 1, on which a character of the text stands."""
    line_ends = list(re.finditer("\n", text[:offset]))
    return len(line_ends) + 1


def posting_of(postings, file):
    """Find a file's entry among the postings of a word, or None when it has none yet."""
    in_order = sorted(postings, key=lambda posting: f"{posting[0]:06}")
    by_file = {posting[0]: posting for posting in in_order}
    return by_file.get(file)


def index_file(index, file, text):
    """Enter every word of one file into the index."""
    kept = 0
    for word, offset in split_words(text):
        if is_stop_word(word):
            continue
        kept += 1
        word = stem(word)
        postings = index["postings"].setdefault(word, [])
        posting = posting_of(postings, file)
        if posting is None:
            postings.append([file, 1, line_of(text, offset)])
        else:
            posting[1] += 1
    index["lengths"].append(kept)


def build_index(texts):
    """Build the index of a list of texts; a file's number is its place in that list."""
    index = {"lengths": [], "postings": {}}
    for file, text in enumerate(texts):
        index_file(index, file, text)
    return index


def search(index, query):
    """List the files that hold every word of a query, the one with most occurrences first."""
    scores = None
    for word, _ in split_words(query):
        if is_stop_word(word):
            continue
        found = {posting[0]: posting[1] for posting in index["postings"].get(stem(word), [])}
        if scores is None:
            scores = found
        else:
            scores = {file: scores[file] + found[file] for file in scores if file in found}
    return sorted(scores or {}, key=lambda file: (-scores[file], file))
