//! Test only: the boxes of the texts of a drawing, to show that no two overlap.

use resvg::usvg;

use super::{Svg, WIDTH, lettering};

/// Estimated boxes (left, top, right, bottom) of every text of a drawing's body, with what it says.
fn estimated(body: &str) -> Vec<(String, [f64; 4])> {
    let texts = body.split("<text ").skip(1);
    texts
        .map(|rest| {
            let (tag, rest) = rest.split_once('>').unwrap();
            let content = rest.split_once("</text>").unwrap().0;
            let content = content.rsplit("</title>").next().unwrap();
            let attribute = |name: &str| tag.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            let number = |name: &str| attribute(name).unwrap().parse::<f64>().unwrap();
            let class = attribute("class").unwrap_or("");
            let has = |name: &str| class.split(' ').any(|part| part == name);
            let by_class = [("az-note", 12.0), ("az-tiny", 11.0), ("az-key", 13.0), ("az-soft", 13.0), ("az-num", 14.0)];
            let size = attribute("style")
                .and_then(|style| style.strip_prefix("font-size:"))
                .map(|size| size.trim_end_matches("px").parse().unwrap())
                .or_else(|| by_class.iter().find(|(name, _)| has(name)).map(|(_, size)| *size))
                .unwrap_or(15.0);
            let shown = content
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&#39;", "'")
                .replace("&quot;", "\"")
                .replace("&amp;", "&");
            let width = lettering::width(&shown, size);
            let (x, y) = (number("x"), number("y"));
            let left = match () {
                () if has("az-num") || has("az-end") => x - width,
                () if has("az-mid") || has("az-cell") => x - width / 2.0,
                () => x,
            };
            (shown, [left, y - 0.75 * size, left + width, y + 0.22 * size])
        })
        .collect()
}

fn check(boxes: &[(String, [f64; 4])], how: &str) {
    for (i, (said, a)) in boxes.iter().enumerate() {
        assert!(a[0] >= 0.0 && a[2] <= WIDTH + 0.01, "{how}: {said:?} leaves the drawing: {a:?}");
        for (other, b) in &boxes[..i] {
            let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(apart, "{how}: {said:?} at {a:?} and {other:?} at {b:?}");
        }
    }
}

/// Asserts that no two texts of a body overlap, by the estimate that drawings are laid out with.
pub(super) fn assert_apart(body: &str) {
    check(&estimated(body), "estimated");
}

/// Asserts the same of a whole drawing, and again with the boxes of the bundled typeface.
pub(super) fn assert_all_apart(svg: &Svg) {
    let boxes = estimated(svg.as_str());
    check(&boxes, "estimated");
    assert!(boxes.iter().all(|(_, [_, top, _, bottom])| *top >= 0.0 && *bottom <= svg.height), "a text leaves the drawing");
    let tree = svg.tree().unwrap();
    let mut measured = Vec::new();
    measure(tree.root(), &mut measured);
    assert_eq!(measured.len(), boxes.len());
    check(&measured, "measured");
}

fn measure(group: &usvg::Group, boxes: &mut Vec<(String, [f64; 4])>) {
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => measure(group, boxes),
            usvg::Node::Text(text) => {
                let said = text.chunks().iter().map(|chunk| chunk.text()).collect();
                // The ink itself: the em box of the typeface is taller than any line distance here.
                let ink = text.flattened().abs_bounding_box();
                boxes.push((said, [ink.left(), ink.top(), ink.right(), ink.bottom()].map(f64::from)));
            }
            usvg::Node::Path(_) | usvg::Node::Image(_) => {}
        }
    }
}

#[test]
fn overlapping_texts_are_found() {
    let text = |x: f64| format!("<text class=\"az-soft\" x=\"{x}\" y=\"20\">word</text>\n");
    assert_apart(&(text(10.0) + &text(60.0)));
    let near = text(10.0) + &text(30.0);
    assert!(std::panic::catch_unwind(|| assert_apart(&near)).is_err());
    assert!(std::panic::catch_unwind(|| assert_apart(&text(590.0))).is_err());
}
