"""A terminal's screen as an SVG.

usage: tmux capture-pane -e -p | screen_to_svg.py COLUMNS

The colours are the few that rlock uses; every other attribute is dropped.
"""

import re
import sys
from html import escape

WIDTH, HEIGHT, MARGIN = 8.4, 18, 16  # of a cell of 14px monospace, and around all of them
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
STYLE = """
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre; }
.bold { font-weight: bold; } .dim { fill: #9198a1; } .prompt { fill: #9198a1; }
"""


def pieces(line):
    """Runs of text with one look: (column, text, look)."""
    column, look = 0, {}
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not codes:
            if part:
                yield column, part, dict(look)
            column += len(part)
            continue
        for code in codes[1].split(";"):
            if code in ("", "0"):
                look.clear()
            elif code == "39":
                look.pop("fill", None)
            elif code in ("1", "2"):
                look["class"] = {"1": "bold", "2": "dim"}[code]
            elif code in COLORS:
                look["fill"] = COLORS[code]


def row(number, line):
    y = MARGIN + HEIGHT * number + 13
    prompt = re.match(r"host-\w\$ ", line)
    if prompt:
        line = line[prompt.end():]
        yield f'<text x="{MARGIN}" y="{y}" class="prompt">{prompt[0]}</text>'
    for column, text, look in pieces(line):
        column += len(prompt[0]) if prompt else 0
        attributes = "".join(f' {name}="{value}"' for name, value in look.items())
        # Blanks at the ends would be lost where white-space is not understood.
        x = MARGIN + WIDTH * (column + len(text) - len(text.lstrip()))
        if text.strip():
            width = WIDTH * len(text.strip())
            yield (f'<text x="{x:.1f}" y="{y}" textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
                   f' xml:space="preserve"{attributes}>{escape(text.strip())}</text>')


def main(columns):
    lines = sys.stdin.read().rstrip("\n").split("\n")
    while lines and re.fullmatch(r"\s*(host-\w\$ *)?", lines[-1]):
        lines.pop()
    width, height = 2 * MARGIN + WIDTH * columns, 2 * MARGIN + HEIGHT * len(lines)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
          f'height="{height}">\n<style>{STYLE}</style>\n<rect width="{width:.0f}" height="{height}" rx="8" '
          f'fill="#0d1117"/>')
    for number, line in enumerate(lines):
        for element in row(number, line):
            print(element)
    print("</svg>")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(int(sys.argv[1]))
