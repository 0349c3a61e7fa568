//! Attention of the tokens of a prompt: for each, the values of the cells it may see, weighted by the softmax of its products with
//! their keys.
//!
//! A job is a block of tokens with all the query heads that share a head of keys and values. It goes over the cells tile by tile with
//! a running maximum and sum (online softmax), so memory does not grow with the cache. Of a tile it takes the cells that any of its tokens
//! may see, and writes their keys and values out as f32 once for all rows; any other cell costs a look at the mask.
//!
//! # Numerics
//! Where tiles begin is a matter of the cache alone, and cells that a token may not see add exact zeros to sums whose order is that of
//! the cells, or does not count (whole numbers). So no bit depends on the tokens beside it.
//!
//! # Source
//! Milakov and Gimelshein, Online normalizer calculation for softmax, arXiv:1805.02867; Dao et al., FlashAttention, arXiv:2205.14135.

use super::{FEWEST_COLUMNS, FEWEST_ELEMENTS, Matrix, Thread, multiply};
use half::f16;
use half::slice::HalfFloatSliceExt;
use llama_cpp_sys_2 as sys;
use std::cell::RefCell;
use std::ffi::c_int;

/// Cells of a tile, and what those taken of it are filled up to a multiple of.
const TILE: usize = 512;
const TILE_STEP: usize = 64;

/// Weights of cells are summed up as whole numbers of this part.
const WEIGHT_PARTS: f32 = (1_u32 << 30) as f32;

/// Rows (tokens times query heads) of a job at most, about; scores, keys, values and sums of a job stay in the second cache.
const ROWS: usize = 192;

/// Fewest tokens; for fewer llama.cpp spreads the cells over its threads.
const FEWEST_TOKENS: usize = 4;

/// Jobs that each thread should find.
const JOBS_A_THREAD: usize = 2;

/// The mask of a cell that a token may not see: minus infinity.
const HIDDEN: u16 = 0xfc00;

// SAFETY: the first is the function that `--wrap` put aside, the second one of ggml's with C linkage.
#[expect(unsafe_code, reason = "functions of the model library")]
unsafe extern "C" {
    fn __real_ggml_compute_forward_flash_attn_ext(thread: *const Thread, out: *mut sys::ggml_tensor);
    /// `y = exp(x - max)`; returns the sum, in an order of its own.
    fn ggml_vec_soft_max_f32(n: c_int, y: *mut f32, x: *const f32, max: f32) -> f64;
}

/// Numbers of a job, kept by each thread.
#[derive(Default)]
struct Scratch {
    /// `[rows, D]`, scaled.
    queries: Vec<f32>,
    /// `[TILE, D]`.
    keys: Vec<f32>,
    /// `[TILE, D_v]`.
    values: Vec<f32>,
    /// `[seeing rows, D]`, `[seeing rows, TILE]`, `[seeing rows, D_v]`: of the rows that see something of a tile.
    seeing_queries: Vec<f32>,
    scores: Vec<f32>,
    tile_sums: Vec<f32>,
    /// `[rows, D_v]`.
    sums: Vec<f32>,
    /// Running maximum and weight of each row.
    maxima: Vec<f32>,
    weights: Vec<f64>,
    /// Whether any token sees a cell of a tile, and the cells of the cache where one does.
    seen: Vec<bool>,
    cells: Vec<usize>,
    /// `[tokens, TILE]`: of those cells.
    masks: Vec<u16>,
    /// The tokens that see something of a tile, and whether they see all of it.
    seeing: Vec<(usize, bool)>,
    mask: Vec<f32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Columns of the products of `n_rows` rows: so many that the kernel takes its usual way.
fn columns(n_rows: usize, width: usize) -> usize {
    n_rows.max(FEWEST_COLUMNS).max(FEWEST_ELEMENTS.div_ceil(width.min(TILE_STEP)))
}

pub(super) fn link() {
    std::hint::black_box(__wrap_ggml_compute_forward_flash_attn_ext as *const ());
}

/// An operation that is taken up here: where its numbers lie.
///
/// # Shapes
/// queries `[D, N, heads]` f32, keys `[D, cells, key heads]` f16, values `[D_v, cells, key heads]` f16, mask `[cells, N]` f16,
/// out `[D_v, heads, N]` f32.
struct Operation<'a> {
    queries: &'a sys::ggml_tensor,
    keys: &'a sys::ggml_tensor,
    values: &'a sys::ggml_tensor,
    mask: &'a sys::ggml_tensor,
    out: &'a sys::ggml_tensor,
    scale: f32,
    /// Query heads that share a head of keys.
    group: usize,
    block_tokens: usize,
}

fn size(tensor: &sys::ggml_tensor, dimension: usize) -> usize {
    tensor.ne[dimension] as usize
}

impl<'a> Operation<'a> {
    /// The operation behind `out`, unless it is one for llama.cpp: other types, position biases, soft caps, sinks, few tokens.
    ///
    /// # Safety
    /// `out` is a node of a graph that is being computed.
    #[expect(unsafe_code, reason = "a node of the model library's graph")]
    unsafe fn of(out: &'a sys::ggml_tensor, n_threads: usize) -> Option<Self> {
        // SAFETY: sources of a node are tensors of the same graph, or null.
        let source = |i: usize| unsafe { out.src[i].cast_const().as_ref() };
        let (queries, keys, values, mask) = (source(0)?, source(1)?, source(2)?, source(3)?);
        let parameter = |i: usize| f32::from_bits(out.op_params[i] as u32);
        let plain = parameter(1) == 0.0 && parameter(2) == 0.0 && source(4).is_none();
        let types = queries.type_ == sys::GGML_TYPE_F32
            && [keys, values, mask].iter().all(|tensor| tensor.type_ == sys::GGML_TYPE_F16)
            && out.type_ == sys::GGML_TYPE_F32;
        let single = [queries, keys, values].iter().all(|tensor| tensor.ne[3] == 1) && mask.ne[2] == 1 && mask.ne[3] == 1;
        let dense = queries.nb[0] == 4 && [keys, values, mask].iter().all(|tensor| tensor.nb[0] == 2);
        let heads = keys.ne[2] == values.ne[2] && queries.ne[2] % keys.ne[2] == 0;
        if !(plain && types && single && dense && heads) || size(queries, 1) < FEWEST_TOKENS {
            return None;
        }
        let group = size(queries, 2) / size(keys, 2);
        let n_blocks = (n_threads * JOBS_A_THREAD).div_ceil(size(keys, 2));
        let block_tokens = size(queries, 1).div_ceil(n_blocks).clamp(1, (ROWS / group).max(16));
        Some(Self { queries, keys, values, mask, out, scale: parameter(0), group, block_tokens })
    }

    fn n_jobs(&self) -> usize {
        size(self.keys, 2) * size(self.queries, 1).div_ceil(self.block_tokens)
    }

    /// # Safety
    /// As for [`Self::of`]; each job is done by one thread.
    #[expect(unsafe_code, reason = "reads and writes the model library's tensors")]
    unsafe fn compute(&self, job: usize, scratch: &mut Scratch) {
        let (depth, width, n_cells) = (size(self.keys, 0), size(self.values, 0), size(self.keys, 1));
        let n_blocks = size(self.queries, 1).div_ceil(self.block_tokens);
        // Blocks that see the most come first, so that the last jobs are short.
        let (key_head, block) = (job % size(self.keys, 2), n_blocks - 1 - job / size(self.keys, 2));
        let first = block * self.block_tokens;
        let n_tokens = self.block_tokens.min(size(self.queries, 1) - first);
        let n_rows = n_tokens * self.group;
        scratch.begin(n_rows, depth, width);
        for row in 0..n_rows {
            let (token, head) = (first + row / self.group, key_head * self.group + row % self.group);
            let query = &mut scratch.queries[row * depth..][..depth];
            // SAFETY: inside the tensor by its sizes and steps.
            let from = unsafe {
                let at = self.queries.data.byte_add(token * self.queries.nb[1] + head * self.queries.nb[2]);
                std::slice::from_raw_parts(at.cast::<f32>(), depth)
            };
            query.iter_mut().zip(from).for_each(|(to, x)| *to = x * self.scale);
        }
        for tile in (0..n_cells).step_by(TILE) {
            // SAFETY: as above.
            let mask = |token: usize| unsafe { self.mask_row(first + token, tile, TILE.min(n_cells - tile)) };
            scratch.find_cells(tile, n_tokens, mask);
            let n = scratch.cells.len();
            if n == 0 {
                continue;
            }
            scratch.look(tile, n_tokens, self.group, depth, mask);
            let n_seeing = scratch.seeing.len() * self.group;
            for (tensor, to, width) in [(self.keys, &mut scratch.keys, depth), (self.values, &mut scratch.values, width)] {
                for (cell, to) in scratch.cells.iter().zip(to.chunks_exact_mut(width)) {
                    // SAFETY: as above.
                    let from = unsafe {
                        let at = tensor.data.byte_add(cell * tensor.nb[1] + key_head * tensor.nb[2]);
                        std::slice::from_raw_parts(at.cast::<f16>(), width)
                    };
                    from.convert_to_f32_slice(to);
                }
            }
            let n_columns = columns(n_seeing, width);
            let keys = Matrix { at: scratch.keys.as_ptr(), row_step: depth, column_step: 1 };
            let queries = Matrix { at: scratch.seeing_queries.as_ptr(), row_step: 1, column_step: depth };
            // SAFETY: the buffers hold as much as `begin` made room for.
            unsafe {
                multiply(
                    [n.next_multiple_of(TILE_STEP), n_columns, depth],
                    keys,
                    queries,
                    scratch.scores.as_mut_ptr(),
                    TILE,
                    false,
                )
            };
            scratch.weigh(self.group, width, n);
            let values = Matrix { at: scratch.values.as_ptr(), row_step: 1, column_step: width };
            let scores = Matrix { at: scratch.scores.as_ptr(), row_step: 1, column_step: TILE };
            // SAFETY: as above.
            unsafe { multiply([width, n_columns, n], values, scores, scratch.tile_sums.as_mut_ptr(), width, false) };
            scratch.add_up(self.group, width);
        }
        for row in 0..n_rows {
            let (token, head) = (first + row / self.group, key_head * self.group + row % self.group);
            let by = if scratch.weights[row] > 0.0 { (1.0 / scratch.weights[row]) as f32 } else { 0.0 };
            // SAFETY: as above; no other job writes this row.
            let to = unsafe {
                let at = self.out.data.byte_add(head * self.out.nb[1] + token * self.out.nb[2]);
                std::slice::from_raw_parts_mut(at.cast::<f32>(), width)
            };
            to.iter_mut().zip(&scratch.sums[row * width..]).for_each(|(to, sum)| *to = sum * by);
        }
    }

    /// # Safety
    /// As for [`Self::of`].
    #[expect(unsafe_code, reason = "reads a tensor of the model library's")]
    unsafe fn mask_row(&self, token: usize, cell: usize, n: usize) -> &[u16] {
        // SAFETY: inside the tensor by its sizes and steps.
        unsafe { std::slice::from_raw_parts(self.mask.data.byte_add(token * self.mask.nb[1] + cell * 2).cast::<u16>(), n) }
    }
}

/// Whether something of a tile is seen, and whether all of it is.
fn sight(mask: &[u16]) -> (bool, bool) {
    // Without an early end, so that it is done by vectors.
    let n_hidden: usize = mask.iter().map(|x| usize::from(*x == HIDDEN)).sum();
    let n_clear: usize = mask.iter().map(|x| usize::from(*x == 0)).sum();
    (n_hidden < mask.len(), n_clear == mask.len())
}

/// Largest element.
fn max(row: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}

/// Sum of weights of 0 to 1, whatever their order.
fn sum(weights: &[f32]) -> f64 {
    // SAFETY: 0 to 2^30 by the scale.
    #[expect(unsafe_code, reason = "a conversion without the checks that would keep it from being vectorised")]
    let parts: i64 = weights.iter().map(|weight| i64::from(unsafe { (weight * WEIGHT_PARTS).to_int_unchecked::<i32>() })).sum();
    parts as f64 / f64::from(WEIGHT_PARTS)
}

impl Scratch {
    fn begin(&mut self, n_rows: usize, depth: usize, width: usize) {
        let n_columns = columns(n_rows, width);
        for (buffer, n) in [
            (&mut self.queries, n_rows * depth),
            (&mut self.keys, TILE * depth),
            (&mut self.values, TILE * width),
            (&mut self.seeing_queries, n_columns * depth),
            (&mut self.scores, n_columns * TILE),
            (&mut self.tile_sums, n_columns * width),
            (&mut self.mask, TILE),
        ] {
            buffer.resize(buffer.len().max(n), 0.0);
        }
        self.sums.clear();
        self.sums.resize(n_rows * width, 0.0);
        self.maxima.clear();
        self.maxima.resize(n_rows, f32::NEG_INFINITY);
        self.weights.clear();
        self.weights.resize(n_rows, 0.0);
    }

    /// Finds the cells of a tile that any token of a block sees.
    fn find_cells<'m>(&mut self, tile: usize, n_tokens: usize, mask: impl Fn(usize) -> &'m [u16]) {
        self.seen.clear();
        self.seen.resize(TILE, false);
        for token in 0..n_tokens {
            self.seen.iter_mut().zip(mask(token)).for_each(|(seen, x)| *seen |= *x != HIDDEN);
        }
        self.cells.clear();
        self.cells.extend(self.seen.iter().enumerate().filter(|(_, seen)| **seen).map(|(i, _)| tile + i));
    }

    /// Gathers the masks of a tile's cells, and the queries of the tokens that see some.
    fn look<'m>(&mut self, tile: usize, n_tokens: usize, group: usize, depth: usize, mask: impl Fn(usize) -> &'m [u16]) {
        self.seeing.clear();
        self.masks.resize(n_tokens * TILE, HIDDEN);
        let n = group * depth;
        for token in 0..n_tokens {
            let (from, to) = (mask(token), &mut self.masks[token * TILE..][..self.cells.len()]);
            to.iter_mut().zip(&self.cells).for_each(|(to, cell)| *to = from[cell - tile]);
            let (sees_some, sees_all) = sight(to);
            if sees_some {
                let place = self.seeing.len();
                self.seeing_queries[place * n..][..n].copy_from_slice(&self.queries[token * n..][..n]);
                self.seeing.push((token, sees_all));
            }
        }
    }

    /// Turns the scores of `n` cells into weights relative to the running maximum; what was summed up so far follows a new one.
    fn weigh(&mut self, group: usize, width: usize, n: usize) {
        // Whole vectors, so that a cell's weight does not depend on its place.
        let n_filled = n.next_multiple_of(TILE_STEP);
        for (place, (token, sees_all)) in self.seeing.iter().enumerate() {
            if !sees_all {
                let mask = &self.masks[token * TILE..][..n];
                mask.iter().zip(&mut self.mask).for_each(|(x, to)| *to = f16::from_bits(*x).to_f32());
            }
            for head in 0..group {
                let row = token * group + head;
                let scores = &mut self.scores[(place * group + head) * TILE..][..n_filled];
                scores[n..].fill(f32::NEG_INFINITY);
                if !sees_all {
                    scores.iter_mut().zip(&self.mask[..n]).for_each(|(score, x)| *score += x);
                }
                let (before, now) = (self.maxima[row], self.maxima[row].max(max(scores)));
                if now > before {
                    let by = (before - now).exp();
                    self.sums[row * width..][..width].iter_mut().for_each(|sum| *sum *= by);
                    self.weights[row] *= f64::from(by);
                    self.maxima[row] = now;
                }
                // SAFETY: reads and writes `n_filled` elements in place.
                #[expect(unsafe_code, reason = "a vectorised exponential of the model library's")]
                unsafe {
                    ggml_vec_soft_max_f32(n_filled as c_int, scores.as_mut_ptr(), scores.as_ptr(), now);
                }
                self.weights[row] += sum(scores);
            }
        }
    }

    /// Adds a tile's weighted values to the sums.
    fn add_up(&mut self, group: usize, width: usize) {
        let n = group * width;
        for (place, (token, _)) in self.seeing.iter().enumerate() {
            let sums = &mut self.sums[token * n..][..n];
            sums.iter_mut().zip(&self.tile_sums[place * n..]).for_each(|(sum, x)| *sum += x);
        }
    }
}

/// What the linker puts in the place of ggml's function, one thread's share.
#[expect(unsafe_code, reason = "called by the model library in the place of a function of its own")]
// SAFETY: no other symbol has this name; it belongs to `--wrap=ggml_compute_forward_flash_attn_ext`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_ggml_compute_forward_flash_attn_ext(thread: *const Thread, out: *mut sys::ggml_tensor) {
    // SAFETY: ggml calls this in all threads of its pool for the same node of the graph that it is computing.
    unsafe {
        match Operation::of(&*out, (*thread).n_threads as usize) {
            Some(operation) => {
                (*thread).share(operation.n_jobs(), |job| SCRATCH.with_borrow_mut(|scratch| operation.compute(job, scratch)));
            }
            None => __real_ggml_compute_forward_flash_attn_ext(thread, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::generate::llama::cpu::tests::numbers;

    const HEADS: usize = 6;
    const KEY_HEADS: usize = 2;
    const DEPTH: usize = 64;

    /// Tokens and the cells that each may see.
    struct Case {
        n_tokens: usize,
        n_cells: usize,
        sees: fn(token: usize, cell: usize) -> bool,
    }

    fn halves(seed: u64, n: usize) -> Vec<f16> {
        numbers(seed, n).into_iter().map(f16::from_f32).collect()
    }

    #[expect(unsafe_code, reason = "a tensor as the model library lays it out")]
    fn tensor(of: sys::ggml_type, ne: [usize; 3], nb: [usize; 3], data: *mut std::ffi::c_void) -> sys::ggml_tensor {
        // SAFETY: numbers and pointers, for all of which zero is a value.
        let mut tensor: sys::ggml_tensor = unsafe { std::mem::zeroed() };
        tensor.type_ = of;
        tensor.ne = [ne[0] as i64, ne[1] as i64, ne[2] as i64, 1];
        tensor.nb = [nb[0], nb[1], nb[2], nb[2] * ne[2]];
        tensor.data = data;
        tensor
    }

    impl Case {
        fn inputs(&self) -> (Vec<f32>, Vec<f16>, Vec<f16>) {
            let n = KEY_HEADS * self.n_cells * DEPTH;
            let queries = numbers(1, self.n_tokens * HEADS * DEPTH).into_iter().map(|x| 4.0 * x).collect();
            (queries, halves(2, n), halves(3, n))
        }

        /// `[N, heads, D]`, by `n_threads` threads' jobs; `None` where llama.cpp keeps the operation.
        #[expect(unsafe_code, reason = "computes on tensors as the model library lays them out")]
        fn attention(&self, n_threads: usize) -> Option<Vec<f32>> {
            let (mut queries, mut keys, mut values) = self.inputs();
            let (n, cells) = (self.n_tokens, self.n_cells);
            let see = |i: usize| if (self.sees)(i / cells, i % cells) { f16::ZERO } else { f16::NEG_INFINITY };
            let mut mask: Vec<f16> = (0..n * cells).map(see).collect();
            let mut result = vec![f32::NAN; n * HEADS * DEPTH];
            let row = DEPTH * KEY_HEADS * 2;
            let mut sources = [
                tensor(sys::GGML_TYPE_F32, [DEPTH, n, HEADS], [4, HEADS * DEPTH * 4, DEPTH * 4], queries.as_mut_ptr().cast()),
                tensor(sys::GGML_TYPE_F16, [DEPTH, cells, KEY_HEADS], [2, row, DEPTH * 2], keys.as_mut_ptr().cast()),
                tensor(sys::GGML_TYPE_F16, [DEPTH, cells, KEY_HEADS], [2, row, DEPTH * 2], values.as_mut_ptr().cast()),
                tensor(sys::GGML_TYPE_F16, [cells, n, 1], [2, cells * 2, cells * n * 2], mask.as_mut_ptr().cast()),
            ];
            let out_steps = [4, DEPTH * 4, HEADS * DEPTH * 4];
            let mut out = tensor(sys::GGML_TYPE_F32, [DEPTH, HEADS, n], out_steps, result.as_mut_ptr().cast());
            out.op_params[0] = 0.125_f32.to_bits() as i32;
            for (to, source) in out.src.iter_mut().zip(&mut sources) {
                *to = source;
            }
            // SAFETY: the tensors lie in the buffers above, which live longer.
            unsafe {
                let operation = Operation::of(&out, n_threads)?;
                let mut scratch = Scratch::default();
                (0..operation.n_jobs()).rev().for_each(|job| operation.compute(job, &mut scratch));
            }
            Some(result)
        }

        /// The same in f64, cell by cell.
        fn expected(&self) -> Vec<f64> {
            let (queries, keys, values) = self.inputs();
            let mut out = Vec::new();
            for (row, query) in queries.chunks(DEPTH).enumerate() {
                let (token, head) = (row / HEADS, row % HEADS / (HEADS / KEY_HEADS));
                let cells: Vec<usize> = (0..self.n_cells).filter(|cell| (self.sees)(token, *cell)).collect();
                let at = |cell: usize| (cell * KEY_HEADS + head) * DEPTH;
                let score = |cell: &usize| {
                    let terms = keys[at(*cell)..][..DEPTH].iter().zip(query);
                    0.125 * terms.map(|(k, q)| k.to_f64() * f64::from(*q)).sum::<f64>()
                };
                let scores: Vec<f64> = cells.iter().map(score).collect();
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
                let total: f64 = weights.iter().sum();
                for i in 0..DEPTH {
                    let value =
                        cells.iter().zip(&weights).map(|(cell, weight)| weight * values[at(*cell) + i].to_f64()).sum::<f64>();
                    out.push(if total > 0.0 { value / total } else { 0.0 });
                }
            }
            out
        }
    }

    /// Prompts, replies of several sequences behind a common beginning, cells that nobody sees, a token that sees nothing.
    const CASES: [Case; 5] = [
        Case { n_tokens: 4, n_cells: 1, sees: |_, _| true },
        Case { n_tokens: 100, n_cells: 700, sees: |token, cell| cell <= 600 + token },
        Case { n_tokens: 513, n_cells: 513, sees: |token, cell| cell <= token },
        Case { n_tokens: 9, n_cells: 1_300, sees: |token, cell| cell < 256 || (cell >= 512 && cell % 9 == token) },
        Case { n_tokens: 5, n_cells: 300, sees: |token, cell| token != 3 && cell % 2 == 0 },
    ];

    #[test]
    fn attention_is_that_of_plain_arithmetic() {
        for case in CASES {
            let (found, expected) = (case.attention(2).expect("taken up"), case.expected());
            for (i, (x, y)) in found.iter().zip(&expected).enumerate() {
                assert!((f64::from(*x) - y).abs() < 1e-5, "{} tokens, element {i}: {x}, not {y}", case.n_tokens);
            }
        }
    }

    #[test]
    fn threads_and_other_tokens_change_no_bit() {
        for case in CASES {
            let one = case.attention(1);
            assert!(one.is_some());
            for n_threads in [2, 3, 8, 64] {
                assert!(case.attention(n_threads) == one, "{} tokens on {n_threads} threads", case.n_tokens);
            }
        }
        let sees: fn(usize, usize) -> bool = |token, cell| cell <= 300 + token;
        let of = |n_tokens| Case { n_tokens, n_cells: 800, sees }.attention(2).expect("taken up");
        let whole = of(200);
        assert_eq!(of(57), whole[..57 * HEADS * DEPTH]);
    }

    #[test]
    fn few_tokens_stay_with_the_model_library() {
        assert!(Case { n_tokens: FEWEST_TOKENS - 1, n_cells: 64, sees: |_, _| true }.attention(2).is_none());
    }
}
