"""Tables in LaTeX, with the packages booktabs and graphicx."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PLUS_MINUS = r"\,$\pm$\,"
_GREEK = {
    "α": "alpha", "β": "beta", "ε": "epsilon", "ζ": "zeta", "λ": "lambda", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "ξ": "xi",
}  # fmt: skip
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "−": "$-$", "↓": r"$\downarrow$", "≤": r"$\leq$", "×": r"$\times$", "→": r"$\rightarrow$",
    "<": "$<$", ">": "$>$",
    **{letter: rf"$\{name}$" for letter, name in _GREEK.items()},
}  # fmt: skip


def escape(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> escape("50 % of pc_assembly")
    '50 \\% of pc\\_assembly'
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


def bold(text: str) -> str:
    """Print in bold."""
    return rf"\textbf{{{text}}}"


def underlined(text: str) -> str:
    """Print underlined."""
    return rf"\underline{{{text}}}"


def tabular(heads: Sequence[Sequence[str]], groups: Iterable[Sequence[Sequence[str]]], rules: str = "") -> list[str]:
    """Return the lines of one tabular, as wide as the text.

    Parameters
    ----------
    heads
        Lines of heads, already escaped; with ``rules`` these stand between the first two.
    groups
        Groups of lines of cells, already escaped, set apart by a rule.
    rules
        ``cmidrule`` commands below the first line of heads.
    """
    width = len(heads[-1])
    body: list[str] = []
    for group in groups:
        body += [*([r"\midrule"] if body else []), *(" & ".join(line) + r" \\" for line in group)]
    told = [" & ".join(line) + r" \\" for line in heads]
    return [
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
        r"\toprule",
        told[0],
        *([rules] if rules else []),
        *told[1:],
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}}",
    ]


def floating(name: str, caption: str, parts: Sequence[str]) -> str:
    """Put the lines of tabulars into a ``table*`` with a caption, already escaped."""
    return "\n".join(
        [
            "% needs the packages booktabs and graphicx",
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{name}}}",
            *parts,
            r"\end{table*}",
            "",
        ]
    )
