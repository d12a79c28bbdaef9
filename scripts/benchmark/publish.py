"""Makes the plot and the tables of the page with what `scripts/bench peers` saw.

usage: publish.py CSV SVG PAGE
"""

import sys

from plot import plot
from results import read
from table import tables

BEGIN, END = "<!-- peers: made by scripts/bench peers --publish -->\n", "<!-- end of peers -->\n"


def main(csv, picture, page):
    rows = read(csv)
    with open(picture, "w", encoding="utf-8") as file:
        file.write(plot(rows))
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"publish: no one place for the tables in {page}: {BEGIN.strip()}")
    before, rest = text.split(BEGIN)
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + tables(rows) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
