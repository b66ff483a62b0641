// SPDX-License-Identifier: Apache-2.0
// CacheAppend of the domain retrograde: new keys (or values) behind those of a cache, as GroupQueryAttention of
// com.microsoft keeps them, and what follows from how many there are.
#include "core/ops/attention/keycache.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/filled.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

struct CacheSlot
{
    enum : std::size_t { kNew, kPast, kLast, kTotal };
};
struct CacheOutput
{
    enum : std::size_t { kRows, kPresent, kLengths, kPositions, kSeen };
};

/// Extents of a cache: batch × heads × rows × width.
struct CacheForm
{
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t added = 1; ///< new rows
    std::int64_t width = 1;
    std::int64_t capacity = 0; ///< rows of the past, of which the first ones count
    std::int64_t total = 1;    ///< tokens, past ones included
    std::int64_t front = 0;    ///< rows of zeros in front of all: keys that stand for nothing
    std::int64_t window = 0;   ///< keys that a query sees, itself included; 0: all
    bool isSliding = false;    ///< the past keeps the newest rows alone

    /// Rows that a cache keeps after `tokens` tokens. A sliding one drops rows by groups when it is full.
    [[nodiscard]] std::int64_t keptOf(std::int64_t tokens) const
    {
        if (!isSliding || tokens <= capacity) {
            return tokens;
        }
        const std::int64_t group = capacity - window + 1;
        return tokens - group * ((tokens - capacity + group - 1) / group);
    }
    [[nodiscard]] std::int64_t rows() const
    {
        const std::int64_t past = total - added;
        return front + (isSliding ? std::min(capacity, past) : past) + added;
    }
    [[nodiscard]] std::int64_t presentRows() const { return isSliding ? capacity : total; }
};

/// Where one row comes from.
struct CacheRow
{
    enum class From : std::uint8_t { Nothing, Past, New };
    From from = From::Nothing;
    std::int64_t row = 0;
};

/// New rows behind the rows of the past that count, per image of the batch. Outputs: the rows that queries read; the
/// cache for the next run; per image the number of rows that count and of those in front of the new ones; the position
/// of each new token; which rows the window of each query holds.
class CacheAppend final : public Operator<ShapeMap>
{
public:
    CacheAppend(std::vector<TensorType> outputs, const CacheForm& form, std::array<bool, 5> isAsked)
        : Operator(std::move(outputs)), m_form(form), m_isAsked(isAsked)
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        const Tensor last = operands[CacheSlot::kLast].to(DType::Int64).contiguous();
        for (const std::int64_t key : last.span<std::int64_t>()) {
            const bool isInside = key >= 0 && key < m_form.total;
            const std::int64_t past = isInside ? pastOf(key) : 0;
            if (!isInside || past + m_form.added > m_form.total || m_form.keptOf(past) > m_form.capacity) {
                return base::inputError(fmt::format(
                    "seqlens_k holds {}, which does not fit {} tokens in all, {} of them new, and a past of "
                    "{} rows; give the number of past and new tokens less 1",
                    key, m_form.total, m_form.added, m_form.capacity));
            }
        }
        return {};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> results(m_outputTypes.size());
        const std::vector<std::int64_t> past = pastRows(operands);
        results[CacheOutput::kRows] = moved(operands, past, CacheOutput::kRows);
        if (m_isAsked[CacheOutput::kPresent]) {
            results[CacheOutput::kPresent] = moved(operands, past, CacheOutput::kPresent);
        }
        if (m_isAsked[CacheOutput::kLengths]) {
            results[CacheOutput::kLengths] = lengths(operands);
        }
        if (m_isAsked[CacheOutput::kPositions]) {
            results[CacheOutput::kPositions] = positions(operands);
        }
        if (m_isAsked[CacheOutput::kSeen]) {
            results[CacheOutput::kSeen] = seen(past);
        }
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(CacheSlot::kLast), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t slot) const override
    {
        return Tensor::zeros(m_outputTypes[0].dtype, shapeOf(slot)); // without the lengths nothing is known
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        if (slot > CacheSlot::kPast) {
            return carryBack(perOutput, slot);
        }
        const std::vector<std::int64_t> past = pastRows(operands);
        tensor::TensorBuffer buffer(m_outputTypes[0].dtype, shapeOf(slot));
        buffer.clear();
        for (const std::size_t output : {CacheOutput::kRows, CacheOutput::kPresent}) {
            const bool isMade = output == CacheOutput::kRows || m_isAsked[CacheOutput::kPresent];
            if (isMade && output < perOutput.size() && perOutput[output].isValid()) {
                addBack(perOutput[output].contiguous(), past, output, slot, buffer);
            }
        }
        return std::move(buffer).freeze();
    }

private:
    [[nodiscard]] Shape shapeOf(std::size_t slot) const
    {
        return slot == CacheSlot::kLast   ? Shape{m_form.batch}
               : slot == CacheSlot::kPast ? Shape{m_form.batch, m_form.heads, m_form.capacity, m_form.width}
                                          : Shape{m_form.batch, m_form.heads, m_form.added, m_form.width};
    }

    /// Tokens in front of the new ones, where the last key has this number. Rows of a batch that are shorter than the
    /// longest one have padding behind them when there is no past.
    [[nodiscard]] std::int64_t pastOf(std::int64_t lastKey) const
    {
        return std::clamp<std::int64_t>(lastKey + 1 - m_form.added, 0, m_form.total - m_form.added);
    }
    /// Rows of the past that count, per image.
    [[nodiscard]] std::vector<std::int64_t> pastRows(std::span<const Tensor> operands) const
    {
        std::vector<std::int64_t> rows;
        for (const std::int64_t past : pastTokens(operands)) {
            rows.push_back(std::min(m_form.keptOf(past), m_form.capacity));
        }
        return rows;
    }
    [[nodiscard]] std::vector<std::int64_t> pastTokens(std::span<const Tensor> operands) const
    {
        const Tensor last = operands[CacheSlot::kLast].to(DType::Int64).contiguous();
        std::vector<std::int64_t> tokens;
        for (const std::int64_t key : last.span<std::int64_t>()) {
            tokens.push_back(pastOf(key));
        }
        return tokens;
    }

    /// Source of row `r` of an output, `past` rows of the past in front.
    [[nodiscard]] CacheRow sourceOf(std::size_t output, std::int64_t past, std::int64_t r) const
    {
        if (output == CacheOutput::kPresent) {
            // the newest rows, which begin at 0
            const std::int64_t all = past + m_form.added;
            const std::int64_t kept = m_form.isSliding ? std::min(m_form.keptOf(all), m_form.capacity) : all;
            r = r < kept ? r + all - kept : all;
        } else {
            r -= m_form.front;
        }
        if (r < 0 || r >= past + m_form.added) {
            return {};
        }
        return r < past ? CacheRow{CacheRow::From::Past, r} : CacheRow{CacheRow::From::New, r - past};
    }

    /// Where a row of so many bytes begins, among the new ones or those of the past; null where there is none.
    [[nodiscard]] const std::byte* startOf(const CacheRow& row, std::int64_t image, std::size_t bytes,
                                           const Tensor& fresh, const Tensor& old) const
    {
        const bool isNew = row.from == CacheRow::From::New;
        if (row.from == CacheRow::From::Nothing || (!isNew && !old.isValid())) {
            return nullptr;
        }
        const std::int64_t at = image * (isNew ? m_form.added : m_form.capacity) + row.row;
        return (isNew ? fresh : old).rawData() + static_cast<std::size_t>(at) * bytes;
    }

    [[nodiscard]] Tensor moved(std::span<const Tensor> operands, const std::vector<std::int64_t>& past,
                               std::size_t output) const
    {
        const Tensor fresh = operands[CacheSlot::kNew].contiguous();
        const bool hasPast = operands.size() > CacheSlot::kPast && operands[CacheSlot::kPast].isValid();
        const Tensor old = hasPast ? operands[CacheSlot::kPast].contiguous() : Tensor();
        const TensorType& type = m_outputTypes[output];
        tensor::TensorBuffer buffer(type.dtype, type.shape);
        buffer.clear();
        const std::size_t bytes = static_cast<std::size_t>(m_form.width) * tensor::sizeOf(type.dtype);
        const std::int64_t rows = type.shape[2];
        for (std::int64_t image = 0; image < m_form.batch * m_form.heads; ++image) {
            const std::int64_t before = past[static_cast<std::size_t>(image / m_form.heads)];
            for (std::int64_t r = 0; r < rows && bytes > 0; ++r) {
                const CacheRow row = sourceOf(output, before, r);
                if (const std::byte* from = startOf(row, image, bytes, fresh, old)) {
                    std::memcpy(buffer.rawData() + static_cast<std::size_t>(image * rows + r) * bytes, from, bytes);
                }
            }
        }
        return std::move(buffer).freeze();
    }

    void addBack(const Tensor& arrived, const std::vector<std::int64_t>& past, std::size_t output, std::size_t slot,
                 tensor::TensorBuffer& buffer) const
    {
        const std::int64_t rows = m_outputTypes[output].shape[2];
        const bool isNew = slot == CacheSlot::kNew;
        const std::int64_t ownRows = isNew ? m_form.added : m_form.capacity;
        visitFloat(arrived.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const T* from = arrived.data<T>();
            T* to = buffer.data<T>();
            for (std::int64_t image = 0; image < m_form.batch * m_form.heads; ++image) {
                const std::int64_t before = past[static_cast<std::size_t>(image / m_form.heads)];
                for (std::int64_t r = 0; r < rows; ++r, from += m_form.width) {
                    const CacheRow row = sourceOf(output, before, r);
                    if (row.from == (isNew ? CacheRow::From::New : CacheRow::From::Past)) {
                        T* own = to + (image * ownRows + row.row) * m_form.width;
                        std::transform(from, from + m_form.width, own, own, std::plus<T>());
                    }
                }
            }
        });
    }

    /// Per image: the rows that count, and those in front of the first new one. Of an image that is shorter than the
    /// new rows, the last ones are padding: they have a place, but no query reads them.
    [[nodiscard]] Tensor lengths(std::span<const Tensor> operands) const
    {
        const Tensor last = operands[CacheSlot::kLast].to(DType::Int64).contiguous();
        std::vector<std::int64_t> counts;
        for (const std::int64_t key : last.span<std::int64_t>()) {
            const std::int64_t past = pastOf(key);
            const std::int64_t before = m_form.front + std::min(m_form.keptOf(past), m_form.capacity);
            counts.push_back(before + std::min(m_form.added, key + 1 - past));
            counts.push_back(before);
        }
        return Tensor::of<std::int64_t>({m_form.batch, 2}, counts);
    }

    [[nodiscard]] Tensor positions(std::span<const Tensor> operands) const
    {
        std::vector<std::int64_t> all;
        for (const std::int64_t past : pastTokens(operands)) {
            for (std::int64_t s = 0; s < m_form.added; ++s) {
                all.push_back(past + s);
            }
        }
        return Tensor::of<std::int64_t>({m_form.batch, m_form.added}, all);
    }

    [[nodiscard]] Tensor seen(const std::vector<std::int64_t>& past) const
    {
        const std::int64_t rows = m_form.rows();
        tensor::TensorBuffer inside(DType::Bool, {m_form.batch, 1, m_form.added, rows});
        bool* to = inside.data<bool>();
        for (const std::int64_t before : past) {
            for (std::int64_t s = 0; s < m_form.added; ++s, to += rows) {
                const std::int64_t own = m_form.front + before + s; // the row of the query's own key
                for (std::int64_t r = 0; r < rows; ++r) {
                    to[r] = r < m_form.front || m_form.window == 0 || r > own - m_form.window;
                }
            }
        }
        return std::move(inside).freeze();
    }

    CacheForm m_form;
    std::array<bool, 5> m_isAsked;
};

/// Rows of the past, which is like what is appended to it; 0 without one.
base::Result<std::int64_t> pastCapacity(const BindContext& context)
{
    if (!context.present(CacheSlot::kPast)) {
        return std::int64_t{0};
    }
    const Shape& fresh = firstType(context).shape;
    const TensorType& past = context.operandTypes[CacheSlot::kPast];
    const std::int64_t capacity = past.shape.size() == 4 ? past.shape[2] : 0;
    if (past.shape != Shape{fresh[0], fresh[1], capacity, fresh[3]} || past.dtype != firstType(context).dtype) {
        return context.error(fmt::format("the past (past_key or past_value) is [{}], but must be [{} × {} × rows × "
                                         "{}] like what is appended to it",
                                         tensor::toText(past.shape), fresh[0], fresh[1], fresh[3]));
    }
    return capacity;
}

/// The past has the rows that the window and the tokens ask for.
base::Result<void> expectRoom(const BindContext& context, const CacheForm& form)
{
    if (form.front < 0 || form.front > 1) {
        return context.error("front must be 0 or 1");
    }
    if (form.isSliding && (form.window == 0 || form.capacity < form.window)) {
        return context.error(fmt::format("a sliding cache needs a local_window_size, and room for as many keys; it has "
                                         "{} rows and a window of {}",
                                         form.capacity, form.window));
    }
    if (!form.isSliding && form.total - form.added > form.capacity) {
        return context.error(fmt::format("total_sequence_length is {}, {} of them new, but the past (past_key, "
                                         "past_value) has {} rows",
                                         form.total, form.added, form.capacity));
    }
    return {};
}

base::Result<CacheForm> cacheForm(const BindContext& context)
{
    const Shape& fresh = firstType(context).shape;
    if (!tensor::isFloating(firstType(context).dtype) || fresh.size() != 4) {
        return context.error("new keys or values must be floating, batch × heads × tokens × width");
    }
    CacheForm form{fresh[0], fresh[1], fresh[2], fresh[3]};
    RETRO_TRY(form.capacity, pastCapacity(context));
    const TensorType& last = context.operandTypes[CacheSlot::kLast];
    const bool isPerImage = last.shape == Shape{form.batch} || last.shape == Shape{form.batch, 1};
    if (tensor::isFloating(last.dtype) || last.dtype == DType::Bool || !isPerImage) {
        return context.error(fmt::format("seqlens_k must hold {} integers, one per image", form.batch));
    }
    RETRO_TRY(const std::vector<std::int64_t> total, context.constantInts(CacheSlot::kTotal));
    if (total.size() != 1 || total[0] < form.added || total[0] > kMaxElements) {
        return context.error(
            fmt::format("total_sequence_length must be one number, at least that of the {} new tokens", form.added));
    }
    form.total = total[0];
    form.front = context.intAttribute("front", 0);
    form.window = std::max<std::int64_t>(context.intAttribute("window", 0), 0);
    form.isSliding = context.intAttribute("sliding", 0) != 0 && form.capacity > 0;
    RETRO_CHECK(expectRoom(context, form));
    return form;
}

} // namespace

BoundResult bindCacheAppend(const BindContext& context)
{
    RETRO_TRY(const CacheForm form, cacheForm(context));
    const DType type = firstType(context).dtype;
    std::array<bool, 5> isAsked{};
    for (std::size_t k = 0; k < isAsked.size(); ++k) {
        isAsked.at(k) = k < context.node.outputs.size() && context.node.outputs[k].isValid();
    }
    std::vector<TensorType> outputs{{type, {form.batch, form.heads, form.rows(), form.width}},
                                    {type, {form.batch, form.heads, form.presentRows(), form.width}},
                                    {DType::Int64, {form.batch, 2}},
                                    {DType::Int64, {form.batch, form.added}},
                                    {DType::Bool, {form.batch, 1, form.added, form.rows()}}};
    for (const TensorType& output : outputs) {
        RETRO_CHECK(expectSize(context, output.shape));
    }
    return bound<CacheAppend>(std::move(outputs), form, isAsked);
}

} // namespace retro::ops
