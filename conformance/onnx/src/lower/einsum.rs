//! Sums of products by index notation.

use super::{Rule, Table};
use crate::graph::{Call, Outputs};
use crate::stop::{Lowered, Stop};
use crate::tensor::Tensor;
use isobit::{Dims, Layout, ReduceOp};
use std::collections::BTreeMap;

pub(super) const TABLE: Table = &[("Einsum", Rule::Code(einsum))];

/// An index of an equation: a letter, or a dimension of an ellipsis, counted from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Index {
    Rest(usize),
    Letter(char),
}

/// Returns the indices of a term, whose ellipsis is of so many dimensions.
fn indices(term: &str, ellipsis: usize) -> Vec<Index> {
    let (before, after) = term.split_once("...").unwrap_or((term, ""));
    let letters = |text: &str| text.chars().map(Index::Letter).collect::<Vec<_>>();
    let rest = if term.contains("...") { ellipsis } else { 0 };
    [letters(before), (0..rest).rev().map(Index::Rest).collect(), letters(after)].concat()
}

/// Returns a view with one dimension for each distinct index; a repeated index selects a diagonal.
fn diagonal(x: &Tensor, indices: &[Index]) -> Lowered<(Tensor, Vec<Index>)> {
    let (mut dims, mut strides, mut seen) = (Dims::new(), Dims::new(), Vec::<Index>::new());
    for ((&index, &size), &stride) in indices.iter().zip(x.dims()).zip(x.layout().stride()) {
        if let Some(at) = seen.iter().position(|&known| known == index) {
            strides[at] += stride;
            dims[at] = dims[at].min(size);
        } else {
            seen.push(index);
            dims.push(size);
            strides.push(stride);
        }
    }
    Ok((x.view(Layout::new(dims, strides, x.layout().start_offset())?), seen))
}

/// Multiplies the operands over all indices, and sums over those that the result does not have.
fn einsum(call: &Call<'_>) -> Outputs {
    let ops = call.ops();
    let equation: String = call.text("equation", "").chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = equation.split_once("->").map_or((equation.as_str(), None), |(l, r)| (l, Some(r)));
    let terms: Vec<&str> = left.split(',').collect();
    let operands = call.all()?;
    let wrong = || Stop::Failed(format!("`{equation}` does not fit the operands"));
    if terms.len() != operands.len() {
        return Err(wrong());
    }
    let (mut sizes, mut views, mut widest) = (BTreeMap::new(), Vec::new(), 0);
    for (term, x) in terms.iter().zip(operands) {
        let named = term.replace("...", "").chars().count();
        let ellipsis = x.rank().checked_sub(named).ok_or_else(wrong)?;
        if ellipsis > 0 && !term.contains("...") {
            return Err(wrong());
        }
        widest = widest.max(ellipsis);
        let (view, seen) = diagonal(x, &indices(term, ellipsis))?;
        for (&index, &size) in seen.iter().zip(view.dims()) {
            let known = sizes.entry(index).or_insert(1);
            *known = size.max(*known);
        }
        views.push((view, seen));
    }
    let result = match right {
        Some(term) => indices(term, widest),
        None => {
            // Without a result, it has the indices that occur once, in alphabetical order.
            let once = |index: &Index| match index {
                Index::Rest(_) => true,
                Index::Letter(letter) => left.matches(*letter).count() == 1,
            };
            let mut rest: Vec<Index> = (0..widest).rev().map(Index::Rest).collect();
            rest.extend(sizes.keys().copied().filter(|index| matches!(index, Index::Letter(_)) && once(index)));
            rest
        }
    };
    let summed = sizes.keys().copied().filter(|index| !result.contains(index));
    let order: Vec<Index> = result.iter().copied().chain(summed).collect();
    let shape: Vec<usize> = order.iter().map(|index| sizes.get(index).copied().unwrap_or(1)).collect();
    let mut product: Option<Tensor> = None;
    for (view, seen) in views {
        // The dimensions in the order of the result; those that the operand lacks have size 1.
        let places: Vec<usize> = order.iter().filter_map(|index| seen.iter().position(|s| s == index)).collect();
        let mut aligned = view.permute(&places)?;
        for (at, index) in order.iter().enumerate() {
            if !seen.contains(index) {
                aligned = aligned.unsqueeze(at)?;
            }
        }
        let aligned = aligned.broadcast(&shape)?;
        product = Some(match product {
            Some(product) => ops.mul(&product, &aligned)?,
            None => aligned,
        });
    }
    let product = product.ok_or_else(wrong)?;
    let dims: Vec<usize> = (result.len()..order.len()).collect();
    let sum = if dims.is_empty() { product } else { ops.reduce(ReduceOp::Sum, &product, &dims)? };
    Ok(vec![ops.reshape(&sum, &shape[..result.len()])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipsis_counts_from_its_end() {
        use Index::{Letter, Rest};
        assert_eq!(indices("a...b", 2), [Letter('a'), Rest(1), Rest(0), Letter('b')]);
        assert_eq!(indices("ab", 2), [Letter('a'), Letter('b')]);
        assert!(indices("", 0).is_empty());
    }
}
