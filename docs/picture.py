"""Draws docs/elmo.svg, the picture in README.md, when run as `python docs/picture.py`."""

from pathlib import Path

TOKENS = ["They", "sat", "on", "the", "bank"]
STEP, LEFT, BOX = 100, 30, 76
ROWS = {"mix": 40, "layer 2": 110, "layer 1": 200, "characters": 290, "words": 350}
BLUE, ORANGE, GREEN, GRAY = "#4c72b0", "#dd8452", "#55a868", "#777777"
LABELS = {
    "mix": ("ScalarMix", "(batch, time, 2P)"),
    "layer 2": ("BiLM", "layers 1 and 2, each (batch, time, 2P)"),
    "characters": ("CharCNNEmbedding", "(batch, time, P)"),
    "words": ("batch_to_ids", "(batch, time, 50)"),
}
STYLE = """
  <style>
    text { font: 14px sans-serif; fill: #333333; }
    .name { font: 15px monospace; font-weight: bold; }
    .in { fill: #ffffff; text-anchor: middle; }
    line { stroke: #777777; stroke-width: 1.4; marker-end: url(#head); }
  </style>
  <defs>
    <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6"
      orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#777777"/></marker>
  </defs>
"""


def box(x, y, width, color, label):
    """A filled box with white text in it."""
    return (
        f'  <rect x="{x}" y="{y}" width="{width}" height="30" rx="5" fill="{color}"/>\n'
        f'  <text class="in" x="{x + width / 2}" y="{y + 20}">{label}</text>\n'
    )


def arrow(x1, y1, x2, y2):
    """An arrow from the first point to the second."""
    return f'  <line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>\n'


def column(number, token):
    """One word, from its characters at the bottom to its vector at the top."""
    x, last = LEFT + number * STEP, number == len(TOKENS) - 1
    middle = x + BOX / 2
    parts = [f'  <text text-anchor="middle" x="{middle}" y="{ROWS["words"] + 20}">{token}</text>\n']
    parts += [box(x, ROWS["characters"], BOX, GREEN, "chars")]
    for row in ["layer 1", "layer 2"]:
        forward, backward = ROWS[row], ROWS[row] + 34
        parts += [box(x, forward, BOX, BLUE, "forward"), box(x, backward, BOX, ORANGE, "backward")]
        if not last:
            parts += [arrow(x + BOX, forward + 15, x + STEP, forward + 15)]
            parts += [arrow(x + STEP, backward + 15, x + BOX, backward + 15)]
    parts += [box(x, ROWS["mix"], BOX, GRAY, "mix")]
    tops = [ROWS["words"] + 6, ROWS["characters"], ROWS["layer 1"], ROWS["layer 2"], ROWS["mix"]]
    ends = [320, 264, 174, 70, 12]
    parts += [arrow(middle, top, middle, end) for top, end in zip(tops, ends, strict=True)]
    return "".join(parts)


def main():
    """Write the picture."""
    right = LEFT + len(TOKENS) * STEP + 10
    parts = [column(number, token) for number, token in enumerate(TOKENS)]
    for row, (name, shape) in LABELS.items():
        y = ROWS[row] + (72 if name == "BiLM" else 12)
        parts.append(f'  <text class="name" x="{right}" y="{y}">{name}</text>\n')
        parts.append(f'  <text x="{right}" y="{y + 18}">{shape}</text>\n')
    picture = "".join(parts)
    Path(__file__).with_name("elmo.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 400" width="820" height="400">'
        f'{STYLE}  <rect width="820" height="400" fill="#ffffff"/>\n{picture}</svg>\n'
    )


if __name__ == "__main__":
    main()
