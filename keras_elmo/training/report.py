"""The report of a training run: one HTML file with curves, which needs no network."""

import html
import math

from keras_elmo.files import replaced

WIDTH, HEIGHT, MARGIN = 720, 320, 56
COLORS = ("#1f77b4", "#d62728", "#17becf", "#ff7f0e")
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 15px sans-serif; margin: 2em auto; max-width: 760px }}
td {{ padding: 0 1em 0 0; vertical-align: top }} svg {{ width: 100% }}</style></head>
<body><h1>{title}</h1>
<p>{summary}</p>
{curves}
<h2>Settings</h2>
<table>{settings}</table>
</body></html>
"""


def write_report(path, title, log, summary, settings):
    """Writes the report.

    Args:
        path: path of the HTML file.
        title: str.
        log: `RunLog`.
        summary: str, one paragraph.
        settings: dict, for a table.
    """
    training = [[float(value) for value in row] for row in log.read("log")]
    validation = [[float(value) for value in row] for row in log.read("validation")]
    curves = {
        "forward": [(row[0], row[2]) for row in training],
        "backward": [(row[0], row[3]) for row in training],
        "held out, forward": [(row[0], row[1]) for row in validation],
        "held out, backward": [(row[0], row[2]) for row in validation],
    }
    speed = {"tokens/s": [(row[0], row[4]) for row in training]}
    rows = (
        f"<tr><td>{html.escape(str(key))}</td><td>{html.escape(str(value))}</td></tr>"
        for key, value in settings.items()
    )
    page = PAGE.format(
        title=html.escape(title),
        summary=html.escape(summary),
        curves=_chart("Perplexity", curves) + _chart("Speed", speed),
        settings="\n".join(rows),
    )
    with replaced(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _chart(title, curves):
    curves = {
        name: [(x, math.log10(y)) for x, y in points if 0 < y < math.inf]
        for name, points in curves.items()
    }
    points = [point for line in curves.values() for point in line]
    if not points:
        return ""
    xs, ys = zip(*points, strict=True)
    right, low, high = max(*xs, 1), min(ys), max(max(ys), min(ys) + 0.01)

    def place(x, y):
        x = MARGIN + x / right * (WIDTH - 2 * MARGIN)
        return x, HEIGHT - MARGIN - (y - low) / (high - low) * (HEIGHT - 2 * MARGIN)

    parts = []
    for k in range(5):
        x, y = place(right * k / 4, low + (high - low) * k / 4)
        parts += [
            f'<path d="M{MARGIN} {y:.1f}H{WIDTH - MARGIN}" stroke="#ddd"/>',
            f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{10 ** (low + (high - low) * k / 4):,.3g}</text>",
            f'<text x="{x:.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">'
            f"{right * k / 4:,.0f}</text>",
        ]
    for number, (name, line) in enumerate(curves.items()):
        if line:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
            parts += [
                f'<polyline points="{path}" fill="none" stroke="{COLORS[number]}"/>',
                f'<text x="{MARGIN + 10 + 160 * number}" y="24" fill="{COLORS[number]}">'
                f"{name}</text>",
            ]
    return (
        f"<h2>{title}</h2>\n"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12">{"".join(parts)}'
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">step</text></svg>\n'
    )
