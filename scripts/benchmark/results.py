"""The results: rows, printed and written as CSV."""

import csv
import statistics
from collections import namedtuple

Row = namedtuple("Row", "subject peer x value unit ratio rounds note")


class Results:
    def __init__(self):
        self.rows = []

    def about(self, name, value):
        self.rows.append(Row("about", name, "", value, "", "", "", ""))

    def add(self, subject, peer, x, value, unit, ratio, rounds):
        self.say(Row(subject, peer, x, f"{value:.4g}", unit, "" if ratio is None else f"{ratio:.3g}",
                     rounds, ""))

    def not_possible(self, subject, peer, x, why):
        self.say(Row(subject, peer, x, "", "", "", "", f"not possible: {why}"))

    def say(self, row):
        self.rows.append(row)
        print(f"{row.subject:<11} {row.peer:<19} {row.x!s:>5}  "
              + (row.note or f"{row.value:>9} {row.unit:<14} {row.ratio:>7}"), flush=True)

    def add_rounds(self, subject, x, unit, rounds, base):
        """rounds: a dict for each, peer to value. Ratios are medians of the rounds' ratios to base."""
        for peer in {name: None for each in rounds for name in each}:
            own = [each for each in rounds if peer in each]
            ratios = [each[peer] / each[base] for each in own if each.get(base)]
            self.add(subject, peer, x, statistics.median(each[peer] for each in own), unit,
                     statistics.median(ratios) if ratios else None, len(own))

    def write(self, path):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Row._fields)
            writer.writerows(self.rows)


def read(path):
    with open(path, newline="") as file:
        return [Row(**each) for each in csv.DictReader(file)]
