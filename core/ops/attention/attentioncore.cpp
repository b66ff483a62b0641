// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attention/attentioncore.h"

#include "core/ops/algebra.h"
#include "core/ops/algebraover.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/exponentialrow.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/reference/sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace retro::ops
{

using tensor::Shape;

namespace
{

constexpr std::array<std::int64_t, 4> kSwapHeads{0, 2, 1, 3};

/// Queries of the heads that share keys, one below the other.
Tensor grouped(const AttentionForm& form, const Tensor& t)
{
    return t.contiguous().reshaped(
        {form.batch, form.keyHeads, form.heads / form.keyHeads * form.queries, t.shape().back()});
}

std::int64_t keysOf(const AttentionForm& form, const AttentionMask& mask, std::int64_t b)
{
    return mask.lengths.empty() ? form.keys : mask.lengths[static_cast<std::size_t>(b)];
}

/// Keys in front of the first query's own in image `b`, for the causal mask.
std::int64_t keysBefore(const AttentionForm& form, const AttentionMask& mask, std::int64_t b)
{
    if (!mask.before.empty()) {
        return mask.before[static_cast<std::size_t>(b)];
    }
    return mask.lengthsShiftCausal ? keysOf(form, mask, b) - form.queries : form.past;
}

/// First and last key that query `i` of image `b` may see, by the causal mask, by the window around its own place and
/// by the number of keys.
std::pair<std::int64_t, std::int64_t> seenKeys(const AttentionForm& form, const AttentionMask& mask, std::int64_t b,
                                               std::int64_t i)
{
    const std::int64_t last = keysOf(form, mask, b) - 1;
    if (!form.isPlaced()) {
        return {0, last};
    }
    const std::int64_t own = i + keysBefore(form, mask, b);
    const std::int64_t right = form.isCausal ? 0 : form.right;
    return {form.left < 0 || form.left > own ? 0 : own - form.left,
            right < 0 || right > last - own ? last : own + right};
}

/// logits of one row: what is outside the keys that are seen is gone.
template <class T>
void maskRow(const AttentionForm& form, std::pair<std::int64_t, std::int64_t> seen, T* row)
{
    const auto [first, last] = seen;
    std::fill(row, row + std::min(first, form.keys), -std::numeric_limits<T>::infinity());
    for (std::int64_t j = std::max<std::int64_t>(last + 1, 0); j < form.keys; ++j) {
        row[j] = -std::numeric_limits<T>::infinity();
    }
}

template <class T>
void maskedSoftmaxRow(const T* logits, std::int64_t count, T* p)
{
    const T largest = largestOf(logits, count);
    if (largest == -std::numeric_limits<T>::infinity()) {
        // All of it is masked, or no number: largestOf() goes past those.
        const T* const faulty = std::find_if(logits, logits + count, [](T x) { return std::isnan(x); });
        const T value = faulty == logits + count ? T{0} : *faulty;
        std::fill(p, p + count, value);
        return;
    }
    exponentials(logits, largest, p, count);
    const T factor = 1 / reference::pairwiseSum<T>(p, count);
    for (std::int64_t j = 0; j < count; ++j) {
        p[j] *= factor;
    }
}

Tensor capped(const Tensor& scores, double cap)
{
    return visitFloat(scores.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T limit = static_cast<T>(cap);
        return mapElements<T>(scores, [limit](T x) { return limit * std::tanh(x / limit); });
    });
}

Tensor biased(const AttentionForm& form, Tensor scores, const AttentionMask& mask)
{
    const Tensor sum =
        (mask.bias.isValid() ? algebra::addOver(std::move(scores), mask.bias) : std::move(scores)).contiguous();
    if (!form.isPlaced() && mask.lengths.empty()) {
        return sum;
    }
    return filled(sum.dtype(), sum.shape(), [&](auto* out) {
        std::copy(elements(sum, out), elements(sum, out) + sum.size(), out);
        const std::int64_t rows = form.batch * form.heads * form.queries;
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t b = row / (form.heads * form.queries);
            maskRow(form, seenKeys(form, mask, b, row % form.queries), out + row * form.keys);
        }
    });
}

// In the memory of the logits, which are row-major, when nobody else holds it.
Tensor softmaxOfRows(Tensor logits, std::int64_t width)
{
    const auto run = [width, size = logits.size()](const auto* in, auto* p) {
        parallelFor(width == 0 ? 0 : size / width, 16384 / std::max<std::int64_t>(width, 1),
                    [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t row = begin; row < end; ++row) {
                            maskedSoftmaxRow(in + row * width, width, p + row * width);
                        }
                    });
    };
    const bool isOwn = visitFloat(logits.dtype(), [&](auto zero) {
        auto* const p = writable<decltype(zero)>(logits);
        if (p != nullptr) {
            run(p, p);
        }
        return p != nullptr;
    });
    return isOwn ? std::move(logits)
                 : filled(logits.dtype(), logits.shape(), [&](auto* p) { run(elements(logits, p), p); });
}

void addTo(Tensor& sum, const Tensor& t)
{
    if (t.isValid()) {
        sum = sum.isValid() ? algebra::add(sum, t.contiguous().reshaped(sum.shape())) : t.contiguous();
    }
}

/// p·(g − Σ g·p) per row.
Tensor softmaxBack(const Tensor& p, const Tensor& g, std::int64_t width)
{
    return filled(p.dtype(), p.shape(), [&](auto* r) {
        using T = std::decay_t<decltype(*r)>;
        for (std::int64_t at = 0; at < p.size(); at += width) {
            const T* own = elements(p, r) + at;
            const T* given = elements(g, r) + at;
            double sum = 0;
            for (std::int64_t j = 0; j < width; ++j) {
                sum += static_cast<double>(own[j]) * static_cast<double>(given[j]);
            }
            for (std::int64_t j = 0; j < width; ++j) {
                r[at + j] = own[j] * (given[j] - static_cast<T>(sum));
            }
        }
    });
}

/// Gradient through cap·tanh(x/cap), whose result is at hand: 1 − (y/cap)².
Tensor capBack(const Tensor& y, const Tensor& g, double cap)
{
    return visitFloat(y.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T factor = static_cast<T>(1 / (cap * cap));
        return mapElements<T>(y, g, y.shape(), [factor](T v, T s) { return s * (1 - v * v * factor); });
    });
}

Tensor rawScores(const AttentionForm& form, const Tensor& q, const Tensor& k)
{
    return algebra::scaleOver(matrixProduct(grouped(form, q), swapped(k)), form.scale)
        .contiguous()
        .reshaped(form.scoreShape());
}

Tensor mixed(const AttentionForm& form, const Tensor& probabilities, const Tensor& v)
{
    return matrixProduct(grouped(form, probabilities), v)
        .reshaped({form.batch, form.heads, form.queries, form.valueWidth});
}

/// y of all scores at once.
Tensor attendedWhole(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                     const AttentionMask& mask)
{
    Tensor scores = rawScores(form, q, k);
    if (form.softcap > 0) {
        scores = capped(scores, form.softcap);
    }
    return mixed(form, softmaxOfRows(biased(form, std::move(scores), mask), form.keys), v);
}

/// Some queries of one head of one image.
struct QueryRows
{
    std::int64_t image = 0;
    std::int64_t head = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

Tensor ofHead(const Tensor& t, std::int64_t image, std::int64_t head)
{
    return slice(slice(t, 0, image, 1), 1, head, 1);
}

/// The mask of some rows.
AttentionMask maskOf(const AttentionMask& mask, const QueryRows& rows)
{
    AttentionMask part;
    if (mask.bias.isValid()) {
        const std::array<std::int64_t, 3> begin{rows.image, rows.head, rows.first};
        const std::array<std::int64_t, 3> count{1, 1, rows.count};
        part.bias = mask.bias;
        for (std::size_t axis = 0; axis < begin.size(); ++axis) {
            if (part.bias.shape()[axis] > 1) {
                part.bias = slice(part.bias, axis, begin[axis], count[axis]);
            }
        }
    }
    if (!mask.lengths.empty()) {
        part.lengths = {mask.lengths[static_cast<std::size_t>(rows.image)]};
    }
    return part;
}

Tensor attendedRows(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                    const AttentionMask& mask, const QueryRows& rows)
{
    AttentionForm part = form;
    part.batch = part.heads = part.keyHeads = 1;
    part.queries = rows.count;
    part.past = keysBefore(form, mask, rows.image) + rows.first; // counted among all queries
    const std::int64_t keyHead = rows.head / (form.heads / form.keyHeads);
    return attendedWhole(part, slice(ofHead(q, rows.image, rows.head), 2, rows.first, rows.count),
                         ofHead(k, rows.image, keyHead), ofHead(v, rows.image, keyHead), maskOf(mask, rows));
}

/// The same piece by piece: rows are independent of each other, so it has the bits of the whole.
Tensor attendedInPieces(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionMask& mask)
{
    const std::int64_t width = static_cast<std::int64_t>(tensor::sizeOf(q.dtype()));
    const std::int64_t together =
        std::clamp<std::int64_t>(kPieceBytes / (form.keys * width), 1, std::max<std::int64_t>(form.queries, 1));
    const std::int64_t pieces = (form.queries + together - 1) / together;
    tensor::TensorBuffer buffer(q.dtype(), {form.batch, form.heads, form.queries, form.valueWidth});
    std::byte* const out = buffer.rawData();
    parallelFor(form.batch * form.heads * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i % pieces * together;
            const QueryRows rows{i / pieces / form.heads, i / pieces % form.heads, first,
                                 std::min(together, form.queries - first)};
            const Tensor y = attendedRows(form, q, k, v, mask, rows).contiguous();
            const std::int64_t at = ((rows.image * form.heads + rows.head) * form.queries + first) * form.valueWidth;
            std::memcpy(out + at * width, y.rawData(), static_cast<std::size_t>(y.bytes()));
        }
    });
    return std::move(buffer).freeze();
}

} // namespace

Tensor attended(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask)
{
    const std::int64_t bytes =
        tensor::elementCount(form.scoreShape()) * static_cast<std::int64_t>(tensor::sizeOf(q.dtype()));
    return bytes > kMostScoreBytes ? attendedInPieces(form, q, k, v, mask) : attendedWhole(form, q, k, v, mask);
}

AttentionValues attend(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                       const AttentionMask& mask)
{
    AttentionValues values;
    values.raw = rawScores(form, q, k);
    values.capped = form.softcap > 0 ? capped(values.raw, form.softcap) : values.raw;
    values.biased = biased(form, values.capped, mask);
    values.probabilities = softmaxOfRows(values.biased, form.keys);
    values.y = mixed(form, values.probabilities, v);
    return values;
}

AttentionGradients attendBack(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                              const AttentionValues& values, const AttentionArriving& arriving)
{
    AttentionGradients gradients;
    Tensor ofProbabilities;
    gradients.v = Tensor::zeros(v.dtype(), v.shape());
    if (arriving.y.isValid()) {
        const Tensor y = grouped(form, arriving.y);
        gradients.v = matrixProduct(swapped(grouped(form, values.probabilities)), y);
        ofProbabilities = matrixProduct(y, swapped(v)).reshaped(form.scoreShape());
    }
    addTo(ofProbabilities, arriving.probabilities);
    Tensor scores = ofProbabilities.isValid()
                        ? softmaxBack(values.probabilities, ofProbabilities.contiguous(), form.keys)
                        : Tensor::zeros(q.dtype(), form.scoreShape());
    addTo(scores, arriving.biased);
    gradients.scores = scores;
    addTo(scores, arriving.capped);
    if (form.softcap > 0) {
        scores = capBack(values.capped, scores, form.softcap);
    }
    addTo(scores, arriving.raw);
    const Tensor scaled = grouped(form, algebra::scale(scores, form.scale));
    gradients.q = matrixProduct(scaled, k).reshaped(q.shape());
    gradients.k = matrixProduct(swapped(scaled), grouped(form, q));
    return gradients;
}

Tensor splitHeads(const Tensor& t, std::int64_t heads)
{
    const Shape& shape = t.shape();
    return t.contiguous().reshaped({shape[0], shape[1], heads, shape[2] / heads}).permuted(kSwapHeads).contiguous();
}

Tensor joinHeads(const Tensor& t)
{
    const Shape& shape = t.shape();
    return t.permuted(kSwapHeads).contiguous().reshaped({shape[0], shape[2], shape[1] * shape[3]});
}

} // namespace retro::ops
