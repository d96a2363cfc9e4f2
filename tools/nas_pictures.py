"""Small SVG pictures for doc/nas.md: grouped bars, lines, points. Readable on light and dark pages."""
from html import escape

COLOURS = ("#2a78d6", "#eb6834", "#1baa7a", "#b8860b", "#9b59b6", "#d6457a")
WIDTH, LEFT, TOP, HEIGHT = 760, 50, 40, 240
STYLE = ("<style>text{font:12px sans-serif;fill:#444}.t{font-size:13px;font-weight:bold}line{stroke:#8884}"
         "@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>")


def frame(title, body, legend):
    """Title, drawing and a legend of two columns below."""
    rows = (len(legend) + 1) // 2
    height = TOP + HEIGHT + 35 + 18 * rows
    items = "".join(
        f'<rect x="{LEFT + 350 * (i % 2)}" y="{TOP + HEIGHT + 28 + 18 * (i // 2)}" width="10" height="10" fill="{colour}"/>'
        f'<text x="{LEFT + 16 + 350 * (i % 2)}" y="{TOP + HEIGHT + 37 + 18 * (i // 2)}">{escape(name)}</text>\n'
        for i, (name, colour) in enumerate(legend))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n{STYLE}\n'
            f'<text class="t" x="{LEFT}" y="20">{escape(title)}</text>\n{body}{items}</svg>\n')


def y_axis(least, most, ticks, place):
    return "".join(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{place(v):.1f}" y2="{place(v):.1f}"/>'
                   f'<text x="{LEFT - 6}" y="{place(v) + 4:.1f}" text-anchor="end">{v:g}</text>\n' for v in ticks if least <= v <= most)


def bars(title, groups, series):
    """series: name → a value for each group."""
    most = max(max(values) for values in series.values()) * 1.05
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 1000) if most / s <= 8)

    def place(value):
        return TOP + HEIGHT - HEIGHT * value / most

    body = y_axis(0, most, [i * step for i in range(int(most / step) + 1)], place)
    room = (WIDTH - 10 - LEFT) / len(groups)
    thick = room * 0.8 / len(series)
    for g, group in enumerate(groups):
        body += f'<text x="{LEFT + room * (g + 0.5):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{escape(group)}</text>\n'
        for s, values in enumerate(series.values()):
            body += (f'<rect x="{LEFT + room * (g + 0.1) + thick * s:.1f}" y="{place(values[g]):.1f}" width="{thick - 1:.1f}" '
                     f'height="{TOP + HEIGHT - place(values[g]):.1f}" fill="{COLOURS[s % len(COLOURS)]}"/>\n')
    return frame(title, body, [(name, COLOURS[i % len(COLOURS)]) for i, name in enumerate(series)])


def lines(title, series):
    """series: name → values from the first to the last tenth; pairs of series share a colour, the second is dashed."""
    values = [v for many in series.values() for v in many]
    least, most = min(0, min(values)), 1

    def place(value):
        return TOP + HEIGHT - HEIGHT * (value - least) / (most - least)

    body = y_axis(least, most, [-1 + 0.2 * i for i in range(11)], lambda v: place(round(v, 1))).replace(">-0<", ">0<")
    body = "".join(body)
    for i, many in enumerate(series.values()):
        step = (WIDTH - 30 - LEFT) / (len(many) - 1)
        at = " ".join(f"{LEFT + 10 + step * k:.1f},{place(v):.1f}" for k, v in enumerate(many))
        dash = ' stroke-dasharray="5 4"' if i % 2 else ""
        body += f'<polyline points="{at}" fill="none" stroke="{COLOURS[i // 2]}" stroke-width="2"{dash}/>\n'
    for k in range(10):
        body += f'<text x="{LEFT + 10 + (WIDTH - 30 - LEFT) / 9 * k:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{k + 1}</text>\n'
    return frame(title, body, [(name + (" (dashed)" if i % 2 else ""), COLOURS[i // 2]) for i, name in enumerate(series)])


def points(title, data):
    """data: (x, y, is on the front, is marked); x is logarithmic."""
    import math
    xs, ys = [math.log(x) for x, *_ in data], [y for _, y, *_ in data]
    least_x, most_x, least, most = min(xs), max(xs), max(min(ys), 60), max(ys)

    def place(value):
        return TOP + HEIGHT - HEIGHT * (max(value, least) - least) / (most - least)

    def across(x):
        return LEFT + 8 + (WIDTH - 26 - LEFT) * (math.log(x) - least_x) / (most_x - least_x)

    body = y_axis(least, most, range(60, 100, 5), place)
    for k in range(-3, 8):
        for x in (10 ** k, 3 * 10 ** k):
            if least_x <= math.log(x) <= most_x:
                body += f'<text x="{across(x):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{x:g}</text>\n'
    for x, y, on_front, marked in data:
        colour = COLOURS[1] if marked else COLOURS[0]
        edge = ' stroke="#888" stroke-width="2"' if on_front else ' fill-opacity=".55"'
        body += f'<circle cx="{across(x):.0f}" cy="{place(y):.0f}" r="{5 if on_front else 2.5}" fill="{colour}"{edge}/>\n'
    return frame(title, body, [("best quarter by utilization", COLOURS[1]), ("others (large circles: the front)", COLOURS[0])])
