# SPDX-License-Identifier: Apache-2.0
"""Explaining what a language model reads."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from .errors import UsageError
from .model import Model, as_files, flag, listener, load, ours, sent, written
from .run import Run

if TYPE_CHECKING:
    import pandas


class TextExplanation:
    """What an explanation of a text found; `explain_text` makes it."""

    def __init__(self, found: dict[str, Any], layers: Any, heads: Any, maps: dict[int, Any], page: str,
                 run: Run) -> None:
        self.question: dict[str, Any] = found["question"]
        """position, target, contrast, best (id, score, text), composite."""
        self.text: str = found["text"]
        self.score: float = found["score"]
        self.tokens: list[str] = [token["text"] for token in found["tokens"]]
        self.ids: list[int] = [token["id"] for token in found["tokens"]]
        self.places: list[tuple[int, int] | None] = [
            None if token["start"] is None else (token["start"], token["end"]) for token in found["tokens"]]
        """Characters of the text, per token; None for one that was put in, or without a text."""
        self.relevance: numpy.ndarray = numpy.array([token["relevance"] for token in found["tokens"]], dtype=float)
        """float64, tokens."""
        self.layers: numpy.ndarray | None = layers
        """float64, (layers + 1) × tokens; None where the layers are not known."""
        self.heads: numpy.ndarray | None = heads
        """float64, layers × tokens × heads; None where the heads are not known."""
        self.attention: dict[int, numpy.ndarray] = maps
        """With attention=: per layer what passed from key to query, heads × queries × keys."""
        self.links: list[list[Any]] = found.get("links", [])
        """With attention=: [layer, head, query, key, relevance] of the largest links of each layer."""
        self.generated: list[dict[str, Any]] = found.get("generated", [])
        """Per step: id, text, score, position, relevance (a list, of the tokens before it)."""
        self.positions: list[dict[str, Any]] = found.get("positions", [])
        """With positions=: per position its target, best, contrast, score, relevance (a list, of all tokens)."""
        self.run = run
        """The Run: relevance of every value."""
        self._page = page

    def html(self) -> str:
        """The words with their relevance as one page that refers to nothing outside."""
        return self._page

    def frame(self) -> pandas.DataFrame:
        """A row per token: id, text, start, end, relevance, share. Needs pandas."""
        import pandas
        whole = float(numpy.abs(self.relevance).sum())
        places = [place or (None, None) for place in self.places]
        return pandas.DataFrame({"id": self.ids, "text": self.tokens, "start": [place[0] for place in places],
                                 "end": [place[1] for place in places], "relevance": self.relevance,
                                 "share": self.relevance / whole if whole else self.relevance})

    def _repr_html_(self) -> str:
        from html import escape
        return f'<iframe srcdoc="{escape(self._page)}" style="width:100%;height:420px;border:0"></iframe>'

    def __repr__(self) -> str:
        target = self.question["target"]
        said = target.get("text", target.get("id")) if isinstance(target, dict) else target
        return f"<retrograde.TextExplanation of {len(self.tokens)} tokens: {said!r}, score {self.score:.4g}>"


def ids_by(tokenizer: Any, text: str) -> list[int]:
    """The numbers of a text by a tokenizer of `tokenizers` or `transformers`."""
    made = tokenizer.encode(text)
    return [int(one) for one in getattr(made, "ids", made)]


def explain_text(model: Any, text: str | Sequence[int], *, target: Any = None, contrast: Any = None,
                 position: int | None = None, positions: Sequence[int] | None = None, generate: int = 0,
                 tokenizer: Any = None, composite: Any = None,
                 start: Any = None, record: bool | None = None,
                 progress: bool | Callable[[str, int, int], object] | None = None, **options: Any) -> TextExplanation:
    """Relevance of the tokens of a text for the word that comes next (docs/language.md).

    model: a Model, or what `load` takes. text: a text, or the numbers of its tokens (chat templates: those of
        `tokenizer.apply_chat_template(…)`).
    target: a word as it stands inside a text (" Paris"), the number of a token, or None for the best word at `position`
        (0 is the first token, -1 the last; that is the default). contrast: one word or a list: why the target and not
        these.
    positions: in place of position several of them: the question at each, over one forward pass. What is of one
        position is of the first.
    generate: go on with so many words and explain each.
    tokenizer: path of a tokenizer.json (default: the one beside the model), or an object of `tokenizers` or
        `transformers`, which then makes the numbers; words of target and contrast are looked up in the file.
    composite, start, record, progress, options: as for Model.explain; also target_tokens=, layers=, attention= ("all",
        or numbers of layers), and `continue` as **{"continue": "…"}. The default start is the score itself; start="one"
        is what a plain gradient has, and the default under its rules.
    Returns a TextExplanation. Raises what Model.explain raises.
    """
    given = dict(options)
    if isinstance(tokenizer, (str, os.PathLike)):
        given["tokenizer"] = os.fspath(tokenizer)
    elif tokenizer is not None and isinstance(text, str):
        text = ids_by(tokenizer, text)
    if isinstance(text, str):
        given["text"] = text
    else:
        given["ids"] = ",".join(str(int(one)) for one in text)
    if not given.get("text") and not given.get("ids"):
        raise UsageError("the text is empty; give some words")
    of = load(model) if not isinstance(model, Model) else model
    if isinstance(given.get("attention"), (list, tuple, range, int)) and not isinstance(given["attention"], bool):
        chosen = given["attention"]
        given["attention"] = ",".join(map(str, [chosen] if isinstance(chosen, int) else chosen))
    given.update(target=target, contrast=contrast, position=position, generate=generate or None,
                 positions=None if positions is None else ",".join(str(int(one)) for one in positions))
    record = record if record is None else flag(record, "record")
    with as_files(ours(composite), start) as files:
        run, found, layers, heads, maps, page = of._native.explain_text({**written(given), **files}, record,
                                                                  listener(progress))
    return TextExplanation(json.loads(found), layers, heads, maps, page, sent(Run(run, of)))
