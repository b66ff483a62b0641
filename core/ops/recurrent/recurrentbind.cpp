// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/recurrent/recurrentform.h"
#include "core/ops/recurrent/recurrentnode.h"
#include "core/ops/recurrent/recurrentrow.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Slot of sequence_lens, the only operand of integers.
constexpr std::size_t kSequenceLengths = 4;

/// RNN, GRU or LSTM. Operands X, W, R, B, sequence_lens, initial_h and, for LSTM, initial_c and P; outputs Y, Y_h and,
/// for LSTM, Y_c. Rows of the batch run in parallel.
class Recurrent final : public Operator<Composed>
{
public:
    Recurrent(std::vector<TensorType> outputs, RecurrentForm form, std::vector<tensor::Shape> operands);

    /// Lengths of sequences lie within the steps.
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override;
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    /// By any floating operand: back through all steps.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                  std::span<const Tensor> outputs, std::size_t slot) const override;
    [[nodiscard]] double flops() const override;

private:
    RecurrentForm m_form;
    std::vector<tensor::Shape> m_operands; // per slot
};

template <class T>
RecurrentData<const T> dataOf(const std::vector<Tensor>& t)
{
    const auto at = [&](std::size_t slot) { return t[slot].isValid() ? t[slot].data<T>() : nullptr; };
    return {at(0), at(1), at(2), at(3), at(5), at(6), at(7)};
}

/// Steps of each row, at most all.
std::vector<std::int64_t> lengthsOf(const RecurrentForm& form, const std::vector<Tensor>& operands)
{
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(form.batch), form.steps);
    if (operands[kSequenceLengths].isValid()) {
        const Tensor given = operands[kSequenceLengths].to(DType::Int64).contiguous();
        for (std::size_t b = 0; b < lengths.size(); ++b) {
            lengths[b] = std::clamp<std::int64_t>(given.span<std::int64_t>()[b], 0, form.steps);
        }
    }
    return lengths;
}

template <class T>
std::vector<T> stateOf(const T* states, std::int64_t at, std::int64_t count)
{
    return states == nullptr ? std::vector<T>(static_cast<std::size_t>(count), T{0})
                             : std::vector<T>(states + at, states + at + count);
}

/// Weights of every direction.
template <class T>
std::vector<RecurrentWeights<T>> weightsOf(const RecurrentForm& form, const RecurrentData<const T>& data)
{
    std::vector<RecurrentWeights<T>> weights;
    for (std::int64_t d = 0; d < form.directions(); ++d) {
        weights.emplace_back(form, data, d);
    }
    return weights;
}

/// Step number `i` of `length`, in the order in which a direction takes them.
std::int64_t stepAt(bool isReverse, std::int64_t i, std::int64_t length) { return isReverse ? length - 1 - i : i; }

/// Results of the forward pass: row-major Y, Y_h, Y_c (the last null but for LSTM), all zeros at first.
template <class T>
struct Results
{
    T* y;
    T* h;
    T* c;
};

template <class T>
void runRow(const RecurrentForm& form, const RecurrentData<const T>& data, const RecurrentRow<T>& row, std::int64_t d,
            std::int64_t b, std::int64_t length, const Results<T>& results)
{
    std::vector<T> h = stateOf(data.h, form.stateAt(b, d), form.hidden);
    std::vector<T> c = stateOf(data.c, form.stateAt(b, d), form.hidden);
    for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = stepAt(form.isReverse[static_cast<std::size_t>(d)], i, length);
        RecurrentStep<T> step = row.forward(t, data.x + form.inputAt(t, b), std::move(h), std::move(c));
        h = std::move(step.state);
        c = std::move(step.cell);
        std::copy(h.begin(), h.end(), results.y + form.outputAt(t, b, d));
    }
    std::copy(h.begin(), h.end(), results.h + form.stateAt(b, d));
    if (results.c != nullptr) {
        std::copy(c.begin(), c.end(), results.c + form.stateAt(b, d));
    }
}

/// Gradients that arrive at Y, Y_h and Y_c; null where none does.
template <class T>
struct Arriving
{
    const T* y;
    const T* h;
    const T* c;
};

/// The accumulators of one direction, with the input's at step t of row b.
template <class T>
RecurrentData<T> directionOf(const RecurrentForm& form, const RecurrentData<T>& into, std::int64_t d, std::int64_t at)
{
    const std::int64_t rows = form.gates() * form.hidden;
    RecurrentData<T> own;
    own.x = into.x == nullptr ? nullptr : into.x + at;
    own.w = into.w == nullptr ? nullptr : into.w + d * rows * form.inputs;
    own.r = into.r == nullptr ? nullptr : into.r + d * rows * form.hidden;
    own.b = into.b == nullptr ? nullptr : into.b + d * 2 * rows;
    own.p = into.p == nullptr ? nullptr : into.p + d * 3 * form.hidden;
    return own;
}

template <class T>
void runRowBack(const RecurrentForm& form, const RecurrentData<const T>& data, const RecurrentRow<T>& row,
                std::int64_t d, std::int64_t b, std::int64_t length, const Arriving<T>& arriving,
                const RecurrentData<T>& into)
{
    std::vector<RecurrentStep<T>> steps;
    std::vector<T> h = stateOf(data.h, form.stateAt(b, d), form.hidden);
    std::vector<T> c = stateOf(data.c, form.stateAt(b, d), form.hidden);
    for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = stepAt(form.isReverse[static_cast<std::size_t>(d)], i, length);
        steps.push_back(row.forward(t, data.x + form.inputAt(t, b), h, c));
        h = steps.back().state;
        c = steps.back().cell;
    }
    h = stateOf(arriving.h, form.stateAt(b, d), form.hidden);
    c = stateOf(arriving.c, form.stateAt(b, d), form.hidden);
    for (std::size_t i = steps.size(); i-- > 0;) {
        const RecurrentStep<T>& step = steps[i];
        if (arriving.y != nullptr) {
            addScaledRow(T{1}, arriving.y + form.outputAt(step.t, b, d), form.hidden, h.data());
        }
        const std::int64_t at = form.inputAt(step.t, b);
        row.backward(step, data.x + at, directionOf(form, into, d, at), h, c);
    }
    if (into.h != nullptr) {
        std::copy(h.begin(), h.end(), into.h + form.stateAt(b, d));
    }
    if (into.c != nullptr) {
        std::copy(c.begin(), c.end(), into.c + form.stateAt(b, d));
    }
}

/// The accumulator of operand `slot`, all others null.
template <class T>
RecurrentData<T> accumulatorOf(std::size_t slot, T* gradient)
{
    RecurrentData<T> into;
    switch (slot) {
    case 0:
        into.x = gradient;
        break;
    case 1:
        into.w = gradient;
        break;
    case 2:
        into.r = gradient;
        break;
    case 3:
        into.b = gradient;
        break;
    case 5:
        into.h = gradient;
        break;
    case 6:
        into.c = gradient;
        break;
    default:
        into.p = gradient;
        break;
    }
    return into;
}

Recurrent::Recurrent(std::vector<TensorType> outputs, RecurrentForm form, std::vector<Shape> operands)
    : Operator(std::move(outputs)), m_form(std::move(form)), m_operands(std::move(operands))
{}

double Recurrent::flops() const
{
    return 2.0 * static_cast<double>(m_form.directions() * m_form.steps * m_form.batch) *
           static_cast<double>(m_form.gates() * m_form.hidden) * static_cast<double>(m_form.inputs + m_form.hidden);
}

base::Result<void> Recurrent::check(std::span<const Tensor> operands) const
{
    if (operands.size() <= kSequenceLengths || !operands[kSequenceLengths].isValid()) {
        return {};
    }
    const Tensor lengths = operands[kSequenceLengths].to(DType::Int64).contiguous();
    for (const std::int64_t length : lengths.span<std::int64_t>()) {
        if (length < 0 || length > m_form.steps) {
            return base::inputError(fmt::format("a sequence of {} steps (operand {}) is not within the {} of operand 0",
                                                length, kSequenceLengths, m_form.steps));
        }
    }
    return {};
}

std::vector<Tensor> Recurrent::forward(std::span<const Tensor> operands) const
{
    const std::vector<Tensor> own = contiguousSlots(operands, 8);
    const std::vector<std::int64_t> lengths = lengthsOf(m_form, own);
    std::vector<tensor::TensorBuffer> buffers;
    for (const TensorType& type : m_outputTypes) {
        buffers.emplace_back(type.dtype, type.shape).clear();
    }
    visitFloat(m_outputTypes[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto data = dataOf<T>(own);
        const auto weights = weightsOf(m_form, data);
        const Results<T> results{buffers[0].data<T>(), buffers[1].data<T>(),
                                 buffers.size() > 2 ? buffers[2].data<T>() : nullptr};
        parallelFor(m_form.directions() * m_form.batch, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t d = task / m_form.batch;
                const std::int64_t b = task % m_form.batch;
                runRow(m_form, data, RecurrentRow<T>(m_form, weights[static_cast<std::size_t>(d)], d), d, b,
                       lengths[static_cast<std::size_t>(b)], results);
            }
        });
    });
    std::vector<Tensor> results;
    for (tensor::TensorBuffer& buffer : buffers) {
        results.push_back(std::move(buffer).freeze());
    }
    return results;
}

Tensor Recurrent::pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                           std::size_t slot) const
{
    const std::vector<Tensor> own = contiguousSlots(operands, 8);
    const std::vector<std::int64_t> lengths = lengthsOf(m_form, own);
    std::vector<Tensor> given(3);
    for (std::size_t k = 0; k < std::min<std::size_t>(s.size(), 3); ++k) {
        given[k] = s[k].isValid() ? s[k].contiguous() : Tensor();
    }
    return accumulated(m_outputTypes[0].dtype, m_operands[slot], [&](auto* gradient) {
        using T = std::decay_t<decltype(*gradient)>;
        const auto data = dataOf<T>(own);
        const auto weights = weightsOf(m_form, data);
        const Arriving<T> arriving{elements(given[0], gradient), elements(given[1], gradient),
                                   elements(given[2], gradient)};
        const RecurrentData<T> into = accumulatorOf(slot, gradient);
        for (std::int64_t task = 0; task < m_form.directions() * m_form.batch; ++task) {
            const std::int64_t d = task / m_form.batch;
            const std::int64_t b = task % m_form.batch;
            runRowBack(m_form, data, RecurrentRow<T>(m_form, weights[static_cast<std::size_t>(d)], d), d, b,
                       lengths[static_cast<std::size_t>(b)], arriving, into);
        }
    });
}

/// sequence_lens is int32, everything else of the type of operand 0.
base::Result<void> expectTypes(const BindContext& context)
{
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        const DType wanted = slot == kSequenceLengths ? DType::Int32 : firstType(context).dtype;
        if (context.present(slot) && context.operandTypes[slot].dtype != wanted) {
            return context.error(fmt::format("operand {} is {}, but must be {}", slot,
                                             tensor::nameOf(context.operandTypes[slot].dtype), tensor::nameOf(wanted)));
        }
    }
    return {};
}

base::Result<void> expectRecurrent(const BindContext& context, RecurrentKind kind)
{
    const bool isLstm = kind == RecurrentKind::Lstm;
    RETRO_CHECK(expectTypes(context));
    if (!tensor::isFloating(firstType(context).dtype) || firstType(context).shape.size() != 3) {
        return context.error("operand 0 must be floating: steps × batch × inputs");
    }
    if (!isLstm && context.intAttribute("input_forget", 0) != 0) {
        return context.error("input_forget couples the gates of an LSTM; this operator has none");
    }
    return {};
}

/// Shapes of all operands, by slot.
std::vector<Shape> wantedShapes(const RecurrentForm& form)
{
    const std::int64_t d = form.directions();
    const std::int64_t rows = form.gates() * form.hidden;
    const Shape state = form.isBatchFirst ? Shape{form.batch, d, form.hidden} : Shape{d, form.batch, form.hidden};
    const Shape x =
        form.isBatchFirst ? Shape{form.batch, form.steps, form.inputs} : Shape{form.steps, form.batch, form.inputs};
    return {x,     {d, rows, form.inputs}, {d, rows, form.hidden}, {d, 2 * rows}, {form.batch}, state,
            state, {d, 3 * form.hidden}};
}

/// The same with the node in its error.
template <class T>
base::Result<T> refusedAt(const BindContext& context, base::Result<T> result)
{
    return result.ok() ? std::move(result) : base::Result<T>(context.error(result.error().message));
}

base::Result<RecurrentForm> formOf(const BindContext& context, RecurrentKind kind)
{
    RecurrentForm form;
    form.kind = kind;
    RETRO_TRY(form.isReverse, refusedAt(context, recurrentDirections(context.node)));
    const Shape& x = firstType(context).shape;
    const Shape& r = context.operandTypes[2].shape;
    form.isBatchFirst = context.intAttribute("layout", 0) != 0;
    form.steps = x[form.isBatchFirst ? 1 : 0];
    form.batch = x[form.isBatchFirst ? 0 : 1];
    form.inputs = x[2];
    form.hidden = context.intAttribute("hidden_size", r.size() == 3 ? r[2] : 0);
    if (form.hidden < 1 || form.hidden > (1LL << 24)) {
        return context.error(fmt::format("hidden_size {} is not between 1 and {}", form.hidden, 1LL << 24));
    }
    form.resetsAfter = context.intAttribute("linear_before_reset", 0) != 0;
    form.isCoupled = context.intAttribute("input_forget", 0) != 0;
    form.clip = context.floatAttribute("clip", form.clip);
    if (!(form.clip > 0)) {
        return context.error(fmt::format("clip is {}, but must be positive", form.clip));
    }
    RETRO_TRY(form.activations, refusedAt(context, recurrentActivations(context.node, kind, form.isReverse.size())));
    return form;
}

BoundResult bindRecurrent(const BindContext& context, RecurrentKind kind)
{
    RETRO_CHECK(expectRecurrent(context, kind));
    RETRO_TRY(RecurrentForm form, formOf(context, kind));
    std::vector<Shape> shapes = wantedShapes(form);
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        if (context.present(slot) && context.operandTypes[slot].shape != shapes[slot]) {
            return context.error(
                fmt::format("operand {} must have the shape [{}]", slot, tensor::toText(shapes[slot])));
        }
    }
    const std::int64_t d = form.directions();
    const Shape y = form.isBatchFirst ? Shape{form.batch, form.steps, d, form.hidden}
                                      : Shape{form.steps, d, form.batch, form.hidden};
    RETRO_CHECK(expectSize(context, y));
    const DType type = firstType(context).dtype;
    std::vector<TensorType> outputs{{type, y}, {type, shapes[5]}};
    if (kind == RecurrentKind::Lstm) {
        outputs.push_back({type, shapes[5]});
    }
    return bound<Recurrent>(std::move(outputs), std::move(form), std::move(shapes));
}

BoundResult bindRnn(const BindContext& context) { return bindRecurrent(context, RecurrentKind::Rnn); }
BoundResult bindGru(const BindContext& context) { return bindRecurrent(context, RecurrentKind::Gru); }
BoundResult bindLstm(const BindContext& context) { return bindRecurrent(context, RecurrentKind::Lstm); }

} // namespace

const OperatorFamily kRecurrentOperators{
    {"", "RNN", 7, 0, "composed", true, bindRnn},
    {"", "GRU", 7, 0, "composed", true, bindGru},
    {"", "LSTM", 7, 0, "composed", true, bindLstm},
};

} // namespace retro::ops
