"""The tables of scripts/benchmark/README.md, out of the CSV that `scripts/bench peers` wrote."""

MISSING = "–"


def figure(value):
    """Three digits that count, and never more than three behind the point."""
    value = float(value)
    if value < 0.1:
        return f"{value:.3f}" if value else "0"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Table:
    def __init__(self, rows):
        self.rows = rows
        self.peers = list(dict.fromkeys(row.peer for row in rows if row.value and row.subject != "about"))

    def cell(self, subject, peer, field):
        """All that was seen, by the growing number of those who wait or of keys."""
        rows = sorted((row for row in self.rows if row.subject == subject and row.peer == peer),
                      key=lambda row: int(row.x))
        return " / ".join(figure(getattr(row, field)) if getattr(row, field) else MISSING for row in rows)

    def steps(self, subject):
        """Such as 1 / 10 / 100."""
        return " / ".join(f"{x:,}" for x in sorted({int(row.x) for row in self.rows if row.subject == subject}))

    def table(self, *columns):
        """columns: (title, subject, field); a subject that was not asked for has none."""
        seen = {row.subject for row in self.rows}
        columns = [each for each in columns if each[1] in seen]
        yield "| lock | " + " | ".join(title for title, _, _ in columns) + " |"
        yield "|---" * (len(columns) + 1) + "|"
        for peer in self.peers:
            yield f"| {peer} | " + " | ".join(self.cell(subject, peer, field) or MISSING
                                              for _, subject, field in columns) + " |"

    def about(self, name):
        return next(row.value for row in self.rows if row.subject == "about" and row.peer == name)

    def text(self):
        """As Markdown; a dash is what was not possible, and the list below says why."""
        yield (f"Seen on {self.about('date')} by `{self.about('command')}`: {self.about('machine')}; "
               f"{self.about('versions')}. The load average was {self.about('load')} when it began and "
               f"{self.about('load at the end')} when it ended; it makes some of that itself, and the more of "
               "it others make, the less the ratios mean.")
        yield ""
        yield "Times flock's own:"
        yield ""
        yield from self.table(
            ("run of a free lock", "run", "ratio"),
            (f"hand-off, {self.steps('handoff')} waiting", "handoff", "ratio"),
            (f"wait of the middle one of {self.steps('load')}", "load", "ratio"),
            (f"jobs a second, {self.steps('throughput')} keys", "throughput", "ratio"))
        yield ""
        yield ("One who waits, and a holder that was killed (`kill -9`): how long its lock is kept from the next "
               "one, and how long its job and the next run side by side, if only the holder was killed:")
        yield ""
        yield from self.table(
            ("commands a second", "commands", "value"),
            ("processor, ms a second", "cpu", "value"),
            ("memory, times flock's", "memory", "ratio"),
            ("takeover, in TTLs", "takeover", "value"), ("overlap, in TTLs", "overlap", "value"))
        notes = [row for row in self.rows if row.note]
        if notes:
            yield ""
        for row in notes:
            yield f"* {row.peer}, {row.subject} with {int(row.x):,}: {row.note}"


def tables(rows):
    return "\n".join(Table(rows).text()) + "\n"
