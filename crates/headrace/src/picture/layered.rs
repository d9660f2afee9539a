//! Places for the blocks of one level: in layers from left to right, as tokens go (Sugiyama, Tagawa and Toda, "Methods
//! for visual understanding of hierarchical system structures").
//!
//! 1. Wires that close a cycle are turned round for the time of the layout.
//! 2. Every node gets the layer after the last of those before it; a wire that skips layers gets a bend in each.
//! 3. Within a layer, nodes are sorted by the mean position of their neighbours, back and forth, and the order with the
//!    fewest crossings is kept.
//! 4. Nodes move up and down towards the pins that they are wired to, as far as those beside them let them.

use super::End;

/// Distance between the layers.
const LAYER_GAP: f64 = 64.0;
/// Least distance between two nodes of a layer.
const NODE_GAP: f64 = 22.0;
/// Height of a bend.
const BEND_HEIGHT: f64 = 6.0;
/// How often the order is improved.
const ORDER_SWEEPS: usize = 24;
/// With more pieces of wire than this no order is looked for: counting crossings takes the square of their number.
const MAX_ORDERED_PIECES: usize = 6000;
/// How often heights are improved.
const HEIGHT_SWEEPS: usize = 40;

/// A node to be placed: size, and the heights of its pins from its top.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub width: f64,
    pub height: f64,
    pub inputs: Vec<f64>,
    pub outputs: Vec<f64>,
}

/// A wire between nodes, with the positions of its pins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub from: End,
    pub to: End,
}

/// Where everything is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub width: f64,
    pub height: f64,
    /// Left top corners of the nodes.
    pub nodes: Vec<(f64, f64)>,
    /// Heights of the pins on the left and on the right border.
    pub inputs: Vec<f64>,
    pub outputs: Vec<f64>,
    /// For each wire the points that it goes through.
    pub wires: Vec<Vec<(f64, f64)>>,
}

/// A node, a pin of the border or a bend.
#[derive(Clone, Debug)]
struct Place {
    layer: usize,
    width: f64,
    height: f64,
    x: f64,
    y: f64,
}

/// A piece of a wire between neighbouring layers, or within one: place and height of the pin at both ends.
#[derive(Clone, Copy, Debug)]
struct Piece {
    left: (usize, f64),
    right: (usize, f64),
}

/// Places nodes. `n_inputs` and `n_outputs` are the pins of the border, which lie left and right of everything.
pub(crate) fn place(nodes: &[Node], n_inputs: usize, n_outputs: usize, links: &[Link]) -> Layout {
    let first_block = n_inputs + n_outputs;
    let index = |end: End, is_source: bool| match end {
        End::Border(pin) if is_source => pin,
        End::Border(pin) => n_inputs + pin,
        End::Block(block, _) => first_block + block,
    };
    let pin_height = |end: End, is_source: bool| match end {
        End::Border(_) => BEND_HEIGHT / 2.0,
        End::Block(block, pin) => {
            let pins = if is_source { &nodes[block].outputs } else { &nodes[block].inputs };
            pins.get(pin).copied().unwrap_or(nodes[block].height / 2.0)
        }
    };
    let n_places = first_block + nodes.len();
    let edges: Vec<(usize, usize)> = links.iter().map(|link| (index(link.from, true), index(link.to, false))).collect();
    let turned = cycle_closers(n_places, &edges);
    let layers = layers(n_places, n_inputs, n_outputs, &edges, &turned);
    let mut places: Vec<Place> = (0..n_places)
        .map(|at| {
            let (width, height) = match at.checked_sub(first_block) {
                Some(block) => (nodes[block].width, nodes[block].height),
                None => (0.0, BEND_HEIGHT),
            };
            Place { layer: layers[at], width, height, x: 0.0, y: 0.0 }
        })
        .collect();
    let mut pieces = Vec::new();
    let mut bends: Vec<Vec<usize>> = Vec::new();
    for ((link, (from, to)), turned) in links.iter().zip(&edges).zip(&turned) {
        let (start, end) = ((*from, pin_height(link.from, true)), (*to, pin_height(link.to, false)));
        let chain = chain(&mut places, *from, *to, *turned);
        let mut last = start;
        for bend in &chain {
            pieces.push(piece(&places, last, (*bend, BEND_HEIGHT / 2.0)));
            last = (*bend, BEND_HEIGHT / 2.0);
        }
        pieces.push(piece(&places, last, end));
        bends.push(chain);
    }
    let mut order = initial_order(&places);
    improve_order(&mut order, &places, &pieces);
    set_columns(&mut places, &order);
    set_heights(&mut places, &order, &pieces);
    let top = places.iter().map(|place| place.y).fold(f64::INFINITY, f64::min);
    let top = if top.is_finite() { top } else { 0.0 };
    places.iter_mut().for_each(|place| place.y -= top);
    let mut columns = vec![(f64::INFINITY, f64::NEG_INFINITY); order.len()];
    for place in &places {
        let (left, right) = columns[place.layer];
        columns[place.layer] = (left.min(place.x), right.max(place.x + place.width));
    }
    let mut wires = Vec::new();
    for (((link, (from, to)), chain), turned) in links.iter().zip(&edges).zip(&bends).zip(&turned) {
        let (from, to) = (&places[*from], &places[*to]);
        let mut points = vec![(from.x + from.width, from.y + pin_height(link.from, true))];
        for bend in chain {
            let height = places[*bend].y + BEND_HEIGHT / 2.0;
            let (left, right) = columns[places[*bend].layer];
            points.extend(if *turned { [(right, height), (left, height)] } else { [(left, height), (right, height)] });
        }
        points.push((to.x, to.y + pin_height(link.to, false)));
        wires.push(points);
    }
    Layout {
        width: places.iter().map(|place| place.x + place.width).fold(0.0, f64::max),
        height: places.iter().map(|place| place.y + place.height).fold(0.0, f64::max),
        nodes: places[first_block..n_places].iter().map(|place| (place.x, place.y)).collect(),
        inputs: places[..n_inputs].iter().map(|place| place.y + BEND_HEIGHT / 2.0).collect(),
        outputs: places[n_inputs..first_block].iter().map(|place| place.y + BEND_HEIGHT / 2.0).collect(),
        wires,
    }
}

/// For each edge whether it closes a cycle: whether a depth-first search meets it on the way back.
fn cycle_closers(n_places: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut leaving = vec![Vec::new(); n_places];
    for (at, (from, _)) in edges.iter().enumerate() {
        leaving[*from].push(at);
    }
    let mut closes: Vec<bool> = edges.iter().map(|(from, to)| from == to).collect();
    let mut state = vec![0u8; n_places];
    for root in 0..n_places {
        if state[root] != 0 {
            continue;
        }
        let mut stack = vec![(root, 0)];
        state[root] = 1;
        while let Some((node, next)) = stack.last_mut() {
            let Some(edge) = leaving[*node].get(*next) else {
                state[*node] = 2;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = edges[*edge].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                1 => closes[*edge] = true,
                _ => {}
            }
        }
    }
    closes
}

/// The layer of each place: inputs of the border in the first, outputs in the last, everything else as far left as what
/// comes before it lets it, but no further from what comes after it than needed.
fn layers(n_places: usize, n_inputs: usize, n_outputs: usize, edges: &[(usize, usize)], turned: &[bool]) -> Vec<usize> {
    let forward: Vec<(usize, usize)> = edges
        .iter()
        .zip(turned)
        .filter(|((from, to), _)| from != to)
        .map(|((from, to), turned)| if *turned { (*to, *from) } else { (*from, *to) })
        .collect();
    let first_block = n_inputs + n_outputs;
    let mut layer: Vec<usize> = (0..n_places).map(|at| usize::from(at >= n_inputs)).collect();
    for _ in 0..n_places {
        let mut changed = false;
        for (from, to) in &forward {
            if *to >= first_block && layer[*to] <= layer[*from] {
                layer[*to] = layer[*from] + 1;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let last = layer[first_block..].iter().copied().max().unwrap_or(0) + 1;
    layer[n_inputs..first_block].fill(last);
    // What nothing comes before moves right, towards what it feeds.
    for at in first_block..n_places {
        let is_source = forward.iter().all(|(_, to)| *to != at);
        let nearest = forward.iter().filter(|(from, _)| *from == at).map(|(_, to)| layer[*to]).min();
        if let (true, Some(nearest)) = (is_source, nearest) {
            layer[at] = nearest.saturating_sub(1).max(1);
        }
    }
    layer
}

/// The bends of a wire: one in every layer that it passes; a wire against the direction also has one beside each end.
fn chain(places: &mut Vec<Place>, from: usize, to: usize, turned: bool) -> Vec<usize> {
    let (first, last) = (places[from].layer, places[to].layer);
    let passed: Vec<usize> = match turned {
        true if last > first => Vec::new(),
        true => (last..=first).rev().collect(),
        false => (first + 1..last).collect(),
    };
    let bend = |layer| Place { layer, width: 0.0, height: BEND_HEIGHT, x: 0.0, y: 0.0 };
    passed
        .into_iter()
        .map(|layer| {
            places.push(bend(layer));
            places.len() - 1
        })
        .collect()
}

fn piece(places: &[Place], a: (usize, f64), b: (usize, f64)) -> Piece {
    if places[a.0].layer <= places[b.0].layer { Piece { left: a, right: b } } else { Piece { left: b, right: a } }
}

fn initial_order(places: &[Place]) -> Vec<Vec<usize>> {
    let n_layers = places.iter().map(|place| place.layer + 1).max().unwrap_or(0);
    let mut order = vec![Vec::new(); n_layers];
    for (at, place) in places.iter().enumerate() {
        order[place.layer].push(at);
    }
    order
}

fn positions(order: &[Vec<usize>], n_places: usize) -> Vec<usize> {
    let mut position = vec![0; n_places];
    for layer in order {
        for (at, place) in layer.iter().enumerate() {
            position[*place] = at;
        }
    }
    position
}

/// The pieces that end at a place: height of the own pin, the other place with the height of its pin, and whether that
/// lies to the left.
type Neighbours = Vec<(f64, usize, f64, bool)>;

fn neighbours(n_places: usize, pieces: &[Piece]) -> Vec<Neighbours> {
    let mut neighbours = vec![Vec::new(); n_places];
    for Piece { left, right } in pieces {
        neighbours[right.0].push((right.1, left.0, left.1, true));
        neighbours[left.0].push((left.1, right.0, right.1, false));
    }
    neighbours
}

fn improve_order(order: &mut Vec<Vec<usize>>, places: &[Place], pieces: &[Piece]) {
    if pieces.len() > MAX_ORDERED_PIECES {
        return;
    }
    let neighbours = neighbours(places.len(), pieces);
    let mut best = order.clone();
    let mut least = crossings(order, places, pieces);
    let mut position = positions(order, places.len());
    for sweep in 0..ORDER_SWEEPS {
        let rightwards = sweep % 2 == 0;
        let n_layers = order.len();
        for step in 0..n_layers {
            let layer = if rightwards { step } else { n_layers - 1 - step };
            let mean = |place: usize| -> f64 {
                let (mut sum, mut count) = (0.0, 0);
                for (_, other, height, lies_left) in &neighbours[place] {
                    if *lies_left == rightwards && places[*other].layer != layer {
                        sum += position[*other] as f64 + height / (places[*other].height + 1.0);
                        count += 1;
                    }
                }
                if count == 0 { position[place] as f64 } else { sum / f64::from(count) }
            };
            let mut keyed: Vec<(f64, usize)> = order[layer].iter().map(|place| (mean(*place), *place)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            order[layer] = keyed.into_iter().map(|(_, place)| place).collect();
            for (at, place) in order[layer].iter().enumerate() {
                position[*place] = at;
            }
        }
        let count = crossings(order, places, pieces);
        if count < least {
            least = count;
            best = order.clone();
        }
    }
    *order = best;
}

fn crossings(order: &[Vec<usize>], places: &[Place], pieces: &[Piece]) -> usize {
    let position = positions(order, places.len());
    let key = |end: (usize, f64)| position[end.0] as f64 + end.1 / (places[end.0].height + 1.0);
    let mut count = 0;
    for (at, a) in pieces.iter().enumerate() {
        for b in &pieces[at + 1..] {
            let same =
                places[a.left.0].layer == places[b.left.0].layer && places[a.right.0].layer == places[b.right.0].layer;
            if same && (key(a.left) - key(b.left)) * (key(a.right) - key(b.right)) < 0.0 {
                count += 1;
            }
        }
    }
    count
}

/// Columns as wide as their widest place; places stand in the middle of theirs.
fn set_columns(places: &mut [Place], order: &[Vec<usize>]) {
    let mut x = 0.0;
    for layer in order {
        let width = layer.iter().map(|place| places[*place].width).fold(0.0, f64::max);
        for place in layer {
            places[*place].x = x + (width - places[*place].width) / 2.0;
        }
        x += width + LAYER_GAP;
    }
}

/// Heights: stacked at first, then moved towards the mean of what they are wired to.
fn set_heights(places: &mut [Place], order: &[Vec<usize>], pieces: &[Piece]) {
    for layer in order {
        let mut y = 0.0;
        for place in layer {
            places[*place].y = y;
            y += places[*place].height + NODE_GAP;
        }
    }
    let neighbours = neighbours(places.len(), pieces);
    for sweep in 0..HEIGHT_SWEEPS {
        let rightwards = sweep % 2 == 0;
        // At last both sides count, so that nothing hangs on the side of the last sweep alone.
        let both = sweep + 4 >= HEIGHT_SWEEPS;
        for step in 0..order.len() {
            let layer = if rightwards { step } else { order.len() - 1 - step };
            let pull = |place: usize| -> f64 {
                let (mut sum, mut count) = (0.0, 0);
                for (own, other, height, lies_left) in &neighbours[place] {
                    if *other != place && (both || *lies_left == rightwards) {
                        sum += places[*other].y + height - own;
                        count += 1;
                    }
                }
                if count == 0 { places[place].y } else { sum / f64::from(count) }
            };
            let wanted: Vec<f64> = order[layer].iter().map(|place| pull(*place)).collect();
            spread_out(places, &order[layer], &wanted);
        }
    }
}

/// Gives the places of a layer the heights nearest to those wanted (in the sense of least squares) that keep them in
/// order and apart: blocks of places that push each other move together to their mean (pool adjacent violators).
fn spread_out(places: &mut [Place], layer: &[usize], wanted: &[f64]) {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut offset = 0.0;
    for place in layer {
        offsets.push(offset);
        offset += places[*place].height + NODE_GAP;
    }
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (wanted, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (wanted - offset, 1);
        while let Some((sum, count)) = pools.last().copied() {
            if sum / count as f64 <= pool.0 / pool.1 as f64 {
                break;
            }
            pools.pop();
            pool = (sum + pool.0, count + pool.1);
        }
        pools.push(pool);
    }
    let mut settled = layer.iter().zip(&offsets);
    for (sum, count) in pools {
        for (place, offset) in settled.by_ref().take(count) {
            places[*place].y = sum / count as f64 + offset;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        Node { width: 100.0, height: 50.0, inputs: vec![20.0, 40.0], outputs: vec![20.0, 40.0] }
    }

    fn link(from: End, to: End) -> Link {
        Link { from, to }
    }

    #[test]
    fn tokens_go_right_and_nothing_overlaps() {
        let nodes = vec![node(); 4];
        let links = [
            link(End::Border(0), End::Block(0, 0)),
            link(End::Block(0, 0), End::Block(1, 0)),
            link(End::Block(0, 1), End::Block(2, 0)),
            link(End::Block(1, 0), End::Block(3, 0)),
            link(End::Block(2, 0), End::Block(3, 1)),
            link(End::Block(3, 0), End::Border(0)),
            link(End::Block(3, 1), End::Block(0, 1)),
            link(End::Block(1, 1), End::Block(1, 1)),
        ];
        let layout = place(&nodes, 1, 1, &links);
        let x = |at: usize| layout.nodes[at].0;
        assert!(x(0) < x(1) && x(1) < x(3) && x(1) == x(2));
        for a in 0..4 {
            for b in 0..a {
                let ((ax, ay), (bx, by)) = (layout.nodes[a], layout.nodes[b]);
                assert!((ax - bx).abs() >= 100.0 || (ay - by).abs() >= 50.0, "{a} overlaps {b}");
            }
        }
        assert!(layout.wires.iter().all(|points| points.len() >= 2));
        assert!(layout.wires.iter().flatten().all(|(x, y)| x.is_finite() && y.is_finite()));
    }

    #[test]
    fn nothing_at_all_has_a_layout() {
        let layout = place(&[], 0, 0, &[]);
        assert_eq!((layout.width, layout.height), (0.0, 0.0));
    }
}
