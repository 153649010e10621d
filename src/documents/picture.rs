//! The state machine as a picture, drawn from the language's own table of transitions. Reverts are left out: they lead
//! from every proposal back to where it came from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use parley_language::transition::Transition;
use parley_language::words::State;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 470.0;
/// Half the size of a state's box.
const HALF: (f64, f64) = (52.0, 20.0);

/// Where a state's box has its middle.
const fn place(state: State) -> (f64, f64) {
    match state {
        State::Open => (90.0, 150.0),
        State::Answered => (350.0, 150.0),
        State::Decided => (610.0, 150.0),
        State::Closed => (870.0, 150.0),
        State::Deferred => (220.0, 400.0),
        State::Obsolete => (480.0, 400.0),
        State::Rejected => (740.0, 400.0),
    }
}

/// One arrow: all acts that lead from one state to another.
#[derive(Default)]
struct Arrow {
    acts: Vec<&'static str>,
    /// Whether some confirmer's act leads there at once.
    at_once: bool,
}

/// The picture as SVG.
pub(super) fn picture(transitions: &[Transition]) -> String {
    let mut arrows: BTreeMap<(State, State), Arrow> = BTreeMap::new();
    for way in transitions.iter().filter(|way| way.act != "revert" && way.from != way.to) {
        let arrow = arrows.entry((way.from, way.to)).or_default();
        if !arrow.acts.contains(&way.act) {
            arrow.acts.push(way.act);
        }
        arrow.at_once |= !way.to_proposal;
    }
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"The states of a thread and the ways between them\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n"
    );
    for ((from, to), arrow) in &arrows {
        draw(&mut svg, *from, *to, arrow);
    }
    for state in State::ALL {
        let (x, y) = place(state);
        let kind = if state.is_side() { "side" } else { "main" };
        // Writing to a text cannot fail.
        let _ = writeln!(
            svg,
            "<g class=\"state {kind}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\"/><text x=\"{x}\" \
             y=\"{}\">{}</text></g>",
            x - HALF.0,
            y - HALF.1,
            HALF.0 * 2.0,
            HALF.1 * 2.0,
            y + 5.0,
            state.name(),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A curve from box to box, bent to its own left, so that there and back are two curves.
fn draw(svg: &mut String, from: State, to: State, arrow: &Arrow) {
    let ((x1, y1), (x2, y2)) = (place(from), place(to));
    let (dx, dy) = (x2 - x1, y2 - y1);
    let length = dx.hypot(dy);
    let bend = 0.22 * length;
    let (cx, cy) =
        (f64::midpoint(x1, x2) + dy / length * bend, f64::midpoint(y1, y2) - dx / length * bend);
    let (ax, ay) = edge((x1, y1), (cx, cy));
    let (bx, by) = edge((x2, y2), (cx, cy));
    let (tx, ty) = (0.25 * ax + 0.5 * cx + 0.25 * bx, 0.25 * ay + 0.5 * cy + 0.25 * by);
    let _ = writeln!(
        svg,
        "<g class=\"way {}\" data-from=\"{}\" data-to=\"{}\"><path d=\"M{ax:.0} {ay:.0} Q{cx:.0} {cy:.0} {bx:.0} {by:.0}\" \
         marker-end=\"url(#tip)\"/><text x=\"{tx:.0}\" y=\"{ty:.0}\">{}</text></g>",
        if arrow.at_once { "once" } else { "proposal" },
        from.name(),
        to.name(),
        arrow.acts.join(", "),
    );
}

/// Where the line from a box's middle towards a point leaves the box.
fn edge((x, y): (f64, f64), (px, py): (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (px - x, py - y);
    let scale = (HALF.0 / dx.abs().max(0.001)).min(HALF.1 / dy.abs().max(0.001)).min(1.0);
    (x + dx * scale, y + dy * scale)
}
