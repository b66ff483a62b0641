// SPDX-License-Identifier: Apache-2.0
#include "core/ops/softmaxshare.h"

#include "core/base/failure.h"
#include "core/ops/kernel/blocksums.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/kernel/wideregisters.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace retro::ops::algebra
{

namespace
{

template <class T>
struct Operands
{
    const T* logits;
    const T* probabilities;
    const T* r;
    const T* total; ///< one per `row` elements
    std::int64_t row;
};

/// Writes x·rest, and rest where a logit is masked out (else 0), for `count` elements from `at` on; `total` is of
/// these.
template <class T>
[[gnu::always_inline]] inline void shareInline(const Operands<T>& in, const T* total, std::int64_t at,
                                               std::int64_t count, T* part, T* hidden)
{
    const T* const x = in.logits + at;
    const T* const p = in.probabilities + at;
    const T* const r = in.r + at;
    for (std::int64_t i = 0; i < count; ++i) {
        const T weight = p[i] > T{0} ? p[i] : T{0};
        const T rest = r[i] - weight * total[i];
        const bool isShown = x[i] + static_cast<T>(kMaskedLogit) > T{0};
        part[i] = (isShown ? x[i] : T{0}) * rest;
        hidden[i] = isShown ? T{0} : rest;
    }
}

RETRO_WIDE_REGISTERS void shareBlock(const Operands<float>& in, const float* total, std::int64_t at, std::int64_t count,
                                     float* part, float* hidden)
{
    shareInline(in, total, at, count, part, hidden);
}

RETRO_WIDE_REGISTERS void shareBlock(const Operands<double>& in, const double* total, std::int64_t at,
                                     std::int64_t count, double* part, double* hidden)
{
    shareInline(in, total, at, count, part, hidden);
}

/// The total of each of `count` elements from `at` on.
template <class T>
void totalsOf(const Operands<T>& in, std::int64_t at, std::int64_t count, T* totals)
{
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t row = (at + done) / in.row;
        const std::int64_t next = std::min(count, (row + 1) * in.row - at);
        std::fill(totals + done, totals + next, in.total[row]);
        done = next;
    }
}

/// Elements that follow each other and have one total; 1 when they do not in all of `shape`.
std::int64_t elementsPerTotal(const tensor::Shape& total, const tensor::Shape& shape)
{
    const bool isLastAxis = !shape.empty() && total.size() == shape.size() && total.back() == 1 &&
                            std::equal(total.begin(), total.end() - 1, shape.begin());
    return isLastAxis ? shape.back() : 1;
}

/// Returns Σ rest over masked logits when it is wanted, else 0.
template <class T>
double shareChunk(const Operands<T>& in, std::int64_t begin, std::int64_t end, T* part, bool wantsMasked)
{
    std::array<T, kSumBlock> hidden;
    std::array<T, kSumBlock> totals;
    double masked = 0;
    for (std::int64_t at = begin; at < end; at += kSumBlock) {
        const std::int64_t count = std::min(kSumBlock, end - at);
        totalsOf(in, at, count, totals.data());
        shareBlock(in, totals.data(), at, count, part + at, hidden.data());
        masked += wantsMasked ? blockSum(hidden.data(), count) : 0;
    }
    return masked;
}

} // namespace

SoftmaxShare softmaxShare(const Tensor& logits, const Tensor& probabilities, const Tensor& r, const Tensor& total,
                          bool wantsMasked)
{
    base::guard(logits.shape() == r.shape() && probabilities.shape() == r.shape(),
                "logits, probabilities and relevance have one shape");
    const std::int64_t row = elementsPerTotal(total.shape(), r.shape());
    const std::array all{logits.contiguous(), probabilities.contiguous(), r.contiguous(),
                         row > 1 ? total.contiguous() : broadcastTo(total, r.shape()).contiguous()};
    tensor::TensorBuffer buffer(r.dtype(), r.shape());
    std::vector<double> masked(static_cast<std::size_t>((r.size() + kSumChunk - 1) / kSumChunk));
    visitFloat(r.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Operands<T> in{all[0].data<T>(), all[1].data<T>(), all[2].data<T>(), all[3].data<T>(), row};
        T* const part = buffer.data<T>();
        parallelFor(static_cast<std::int64_t>(masked.size()), 4, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                masked[static_cast<std::size_t>(i)] =
                    shareChunk(in, i * kSumChunk, std::min(r.size(), (i + 1) * kSumChunk), part, wantsMasked);
            }
        });
    });
    return {std::move(buffer).freeze(), std::accumulate(masked.begin(), masked.end(), 0.0)};
}

} // namespace retro::ops::algebra
