"""Just enough of SVG for a plot: text, lines, a panel with axes."""

import math
from html import escape

# The picture brings its own background, so that it can be read on any page, and follows the reader's scheme.
# Plain rules and no variables: not every renderer knows those.
STYLE = """
text { font: 12px sans-serif; fill: #24292f; }
.title { font-size: 14px; font-weight: bold; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.paper { fill: #ffffff; } .grid { stroke: #d8dee4; } .axis { stroke: #24292f; }
.line { fill: none; stroke-width: 1.6; } .thick { stroke-width: 3; }
@media (prefers-color-scheme: dark) {
text { fill: #d1d7e0; } .paper { fill: #151b23; } .grid { stroke: #3d444d; } .axis { stroke: #d1d7e0; }
}
"""


def text(x, y, words, kind="", turn=False):
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{turned}>{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def mark(x, y, look):
    """A circle, or a square for who is not rlock."""
    if look.square:
        return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{look.color}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if look.thick else 3:.0f}" fill="{look.color}"/>'


def path(points, look):
    words = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{look.dashes}"' if look.dashes else ""
    return (f'<polyline points="{words}" class="line{" thick" if look.thick else ""}" '
            f'stroke="{look.color}"{dashes}/>')


def bar(x, y, width, look):
    return f'<rect x="{x:.1f}" y="{y - 7:.1f}" width="{width:.1f}" height="14" rx="2" fill="{look.color}"/>'


def document(width, height, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'width="{width}" height="{height}">', f"<style>{STYLE}</style>",
                      f'<rect class="paper" width="{width}" height="{height}" rx="6"/>', *parts,
                      "</svg>", ""])


class Scale:
    """Logarithmic, from whole decades below the least to a little above the most."""

    def __init__(self, values, start, end):
        least, most = min(values), max(values)
        self.low, self.start, self.end = math.floor(math.log10(least) + 1e-9), start, end
        self.high = math.log10(most) + 0.08
        if math.log10(least) - self.low > 0.5:  # the lower half of the decade would be empty
            self.low = math.log10(least) - 0.2
        if self.high - self.low < 0.8:
            self.high = self.low + 0.8

    def __call__(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        steps = (1,) if self.high - self.low > 2.2 else (1, 2, 5)
        every = [step * 10.0 ** power for power in range(-4, 7) for step in steps]
        return [each for each in every
                if self.low - 1e-9 <= math.log10(each) <= self.high]


def number(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
