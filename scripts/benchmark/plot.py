"""The plot of what `scripts/bench peers` saw, out of its CSV."""

from collections import namedtuple

import svg

Look = namedtuple("Look", "color square thick dashes")
LOOKS = {
    "flock": Look("#8b949e", True, True, ""),
    "setlock": Look("#57606a", True, False, "2 3"),
    "bash and redis-cli": Look("#d1242f", True, False, ""),
    "redis-py": Look("#e08a00", True, False, ""),
    "kazoo": Look("#c9a227", True, False, ""),
    "etcdctl lock": Look("#a45ad6", True, False, ""),
    "rlock, Unix socket": Look("#2f81f7", False, True, ""),
    "rlock, TCP": Look("#2f81f7", False, False, "6 3"),
    "rlock, TLS": Look("#0fa3b1", False, False, ""),
    "rlock, Sentinel": Look("#0fa3b1", False, False, "6 3"),
    "rlock, Cluster": Look("#0fa3b1", False, False, "2 3"),
    "rlock, quorum of 3": Look("#bf6f8f", False, False, "6 3"),
    "rlock, ZooKeeper": Look("#9a8c1b", False, False, ""),
    "rlock, --local-gate": Look("#2da44e", False, False, "6 3"),
    "rlock, file:": Look("#2da44e", False, False, ""),
}
WIDTH, TOP, TALL, LEGEND = 1000, 44, 320, 96


def series(rows, subject, figure):
    """{peer: [(x, figure)]}, in the order of LOOKS; who has no figure, or none that a logarithm has, is left out."""
    found = {}
    for peer in LOOKS:
        points = [(int(row.x), figure(row)) for row in rows
                  if row.subject == subject and row.peer == peer and row.value]
        points = [(x, y) for x, y in points if y and y > 0]
        if points:
            found[peer] = sorted(points)
    return found


def nothing(left, top, title):
    return [svg.text(left + 10, top - 16, title, "title"), svg.text(left + 60, top + 40, "not measured")]


def bars(left, top, title, data):
    """One for each peer, from where the ratio is 1."""
    if not data:
        return nothing(left, top, title)
    values = [points[0][1] for points in data.values()]
    scale = svg.Scale([*values, 1], left + 135, left + 430)
    parts = [svg.text(left + 10, top - 16, title, "title")]
    bottom = top + 21 * len(data) + 6
    for tick in scale.ticks():
        parts += [svg.line(scale(tick), top, scale(tick), bottom, "grid"),
                  svg.text(scale(tick), bottom + 16, svg.number(tick), "middle")]
    for index, (peer, points) in enumerate(data.items()):
        y, value = top + 14 + 21 * index, points[0][1]
        near, far = sorted((scale(1), scale(value)))
        parts += [svg.text(left + 130, y + 4, peer, "end"), svg.bar(near, y, max(far - near, 1), LOOKS[peer]),
                  svg.text(far + 5, y + 4, f"{value:.3g}")]
    parts += [svg.line(scale(1), top, scale(1), bottom, "axis"),
              svg.text((left + 135 + left + 430) / 2, bottom + 34, "times flock's, logarithmic", "middle")]
    return parts


def lines(left, top, title, across, upwards, data):
    if not data:
        return nothing(left, top, title)
    xs = [x for points in data.values() for x, _ in points]
    ys = [y for points in data.values() for _, y in points]
    bottom = top + TALL - 48
    width, height = svg.Scale(xs, left + 60, left + 450), svg.Scale(ys, bottom, top)
    parts = [svg.text(left + 10, top - 16, title, "title")]
    for tick in height.ticks():
        parts += [svg.line(left + 60, height(tick), left + 460, height(tick), "grid"),
                  svg.text(left + 54, height(tick) + 4, svg.number(tick), "end")]
    for x in sorted(set(xs)):
        parts += [svg.line(width(x), bottom, width(x), bottom + 5, "axis"),
                  svg.text(width(x), bottom + 18, f"{x:,}", "middle")]
    parts += [svg.line(left + 60, bottom, left + 460, bottom, "axis"),
              svg.line(left + 60, bottom, left + 60, top, "axis"),
              svg.text(left + 260, bottom + 36, across, "middle"),
              svg.text(left + 18, (top + bottom) / 2, upwards, "middle", turn=True)]
    for peer, points in data.items():
        spots = [(width(x), height(y)) for x, y in points]
        parts.append(svg.path(spots, LOOKS[peer]))
        parts += [svg.mark(x, y, LOOKS[peer]) for x, y in spots]
    return parts


def legend(top):
    parts = []
    for index, (peer, look) in enumerate(LOOKS.items()):
        x, y = 60 + 185 * (index % 5), top + 22 * (index // 5)
        parts += [svg.path([(x, y), (x + 30, y)], look), svg.mark(x + 15, y, look), svg.text(x + 37, y + 4, peer)]
    return parts


def plot(rows):
    def ratio(row):
        return float(row.ratio) if row.ratio else None
    # How long one waits grows with those who wait; so in units of one figure, that of flock where fewest wait.
    unit = series(rows, "load", lambda row: float(row.value)).get("flock", [(0, 1)])[0]
    second = TOP + TALL + 40
    return svg.document(WIDTH, second + TALL + LEGEND, [
        *bars(0, TOP, "A run of a free lock: wall time", series(rows, "run", ratio)),
        *bars(500, TOP, "One who waits: memory (PSS)", series(rows, "memory", ratio)),
        *lines(0, second, "Hand-off: from one job's end to the next one's start", "waiting processes",
               "times flock's", series(rows, "handoff", ratio)),
        *lines(500, second, "Wait of the one in the middle of the queue", "waiting processes",
               f"times flock's with {unit[0]}", series(rows, "load", lambda row: float(row.value) / unit[1])),
        *legend(second + TALL + 24)])
