"""What a look at the page would find, computed in the browser: texts that overlap, are cut, or are hard to read."""

from __future__ import annotations

from typing import Any

# The corners of a text on the screen, rotated as it is. Two texts overlap where no side of either parts them.
_BOXES = """
const SLACK = 1.5;
const corners = (node) => {
    const box = node.getBBox(), matrix = node.getScreenCTM();
    const slack = Math.min(SLACK, box.height / 4);
    const [x, y, r, b] = [box.x + slack, box.y + slack, box.x + box.width - slack, box.y + box.height - slack];
    return [[x, y], [r, y], [r, b], [x, b]].map(([px, py]) => new DOMPoint(px, py).matrixTransform(matrix));
};
const parted = (one, other) => [one, other].some((shape) => shape.some((from, at) => {
    const to = shape[(at + 1) % 4];
    const axis = [to.y - from.y, from.x - to.x];
    const span = (points) => points.map((p) => p.x * axis[0] + p.y * axis[1]);
    const [a, b] = [span(one), span(other)];
    return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a);
}));
"""
_TEXTS = """
const texts = (svg) => [...svg.querySelectorAll("text")].filter(
    (each) => each.textContent.trim() && each.checkVisibility({ opacityProperty: true }) && each.getAttribute("opacity") !== "0"
);
const pictures = () => [...document.querySelectorAll("figure svg")].filter((each) => each.getBoundingClientRect().width > 0);
const named = (svg) => svg.closest("figure").id;
"""
_OVERLAPS = f"""() => {{
{_TEXTS}{_BOXES}
const found = [];
for (const svg of pictures()) {{
    const boxes = texts(svg).map((each) => [each.textContent, corners(each)]);
    for (const [at, [text, box]] of boxes.entries())
        for (const [other, there] of boxes.slice(at + 1))
            if (!parted(box, there)) found.push(`${{named(svg)}}: "${{text}}" lies over "${{other}}"`);
}}
return found;
}}"""
_CUT = f"""() => {{
{_TEXTS}
const found = [];
for (const svg of pictures()) {{
    const frame = svg.getBoundingClientRect();
    for (const each of texts(svg)) {{
        const box = each.getBoundingClientRect();
        if (box.left < frame.left - 1 || box.top < frame.top - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
            found.push(`${{named(svg)}}: "${{each.textContent}}" leaves the picture`);
        if (each.textContent.endsWith("…")) found.push(`${{named(svg)}}: "${{each.textContent}}" is cut`);
        const matrix = each.getScreenCTM(), size = parseFloat(getComputedStyle(each).fontSize) * Math.hypot(matrix.a, matrix.b);
        if (size < 7) found.push(`${{named(svg)}}: "${{each.textContent}}" is ${{size}} pixels high`);
    }}
}}
return found;
}}"""
# A text of a picture stands on the last shape before it that is filled where its middle is, else on the page.
_CONTRAST = f"""() => {{
{_TEXTS}
const parse = (text) => {{
    const found = text.match(/[\\d.]+/g).map(Number);
    return [found[0], found[1], found[2], found[3] ?? 1];
}};
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const light = (colour) => {{
    const [r, g, b] = colour.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}};
const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const opacity = (node, kind) => {{
    let all = Number(getComputedStyle(node)[kind]);
    for (let each = node; each.localName !== "svg"; each = each.parentElement) all *= Number(getComputedStyle(each).opacity);
    return all;
}};
const fill = (node) => {{
    const value = getComputedStyle(node).fill;
    if (value === "none" || !value.startsWith("rgb")) return null;
    const colour = parse(value);
    return [colour[0], colour[1], colour[2], colour[3] * opacity(node, "fillOpacity")];
}};
const ground = parse(getComputedStyle(document.documentElement).backgroundColor);
const found = [];
for (const svg of pictures()) {{
    const shapes = [...svg.querySelectorAll("path,rect,circle")].filter((each) => !each.closest("defs,clipPath,symbol"));
    for (const each of texts(svg)) {{
        const box = each.getBBox(), middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
        const place = middle.matrixTransform(each.getScreenCTM());
        let under = ground;
        for (const shape of shapes) {{
            if (!(shape.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
            const colour = fill(shape);
            if (!colour || !colour[3]) continue;
            if (shape.isPointInFill(place.matrixTransform(shape.getScreenCTM().inverse()))) under = over(colour, under);
        }}
        const ink = fill(each);
        const reached = ink ? ratio(over(ink, under), under) : 0;
        if (reached < 4.5) found.push(`${{named(svg)}}: "${{each.textContent}}" has a contrast of ${{reached.toFixed(2)}}`);
    }}
}}
return found;
}}"""


# A mark of the size of a letter that is drawn after a text and touches it; cells and bars are larger.
_COVERED = f"""() => {{
{_TEXTS}{_BOXES}
const found = [];
for (const svg of pictures()) {{
    const marks = [...svg.querySelectorAll("path")].map((each) => [each, each.getBBox()]).filter(
        ([each, box]) => box.width > 2 && box.height > 2 && box.width < 16 && box.height < 16 && !each.closest("defs,clipPath,symbol")
    );
    for (const each of texts(svg)) {{
        const box = corners(each);
        for (const [mark] of marks)
            if (each.compareDocumentPosition(mark) & Node.DOCUMENT_POSITION_FOLLOWING && !parted(box, corners(mark)))
                found.push(`${{named(svg)}}: a mark lies over "${{each.textContent}}"`);
    }}
}}
return found;
}}"""


def covered(page: Any) -> list[str]:
    """Texts of pictures that a point lies over."""
    return list(page.evaluate(_COVERED))


def overlaps(page: Any) -> list[str]:
    """Texts of pictures that lie over each other."""
    return list(page.evaluate(_OVERLAPS))


def cut(page: Any) -> list[str]:
    """Texts of pictures that leave their picture, lack their end, or are too small to be read."""
    return list(page.evaluate(_CUT))


def faint(page: Any) -> list[str]:
    """Texts of pictures whose contrast with what they stand on is below 4.5:1."""
    return list(page.evaluate(_CONTRAST))


def too_wide(page: Any) -> int:
    """By how many pixels the page is wider than the window, 0 or more."""
    return int(page.evaluate("Math.max(0, document.scrollingElement.scrollWidth - innerWidth)"))


def contrast(one: str, other: str) -> float:
    """The contrast of WCAG 2 of two colours, such as rgb(1, 2, 3) of a browser or #010203 of a style."""
    high, low = sorted((_light(one), _light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _light(colour: str) -> float:
    named = [int(colour[at : at + 2], 16) for at in (1, 3, 5)] if colour.startswith("#") else []
    parts = [float(part) / 255 for part in named or colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
