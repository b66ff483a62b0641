// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/recurrent/recurrent.h"
#include "core/ops/recurrent/recurrentnode.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

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
    RETRO_CHECK(expect(context, {.least = 3,
                                 .most = isLstm ? std::size_t{8} : std::size_t{6},
                                 .outputs = isLstm ? std::size_t{3} : std::size_t{2},
                                 .attributes = {{"direction", AttributeKind::Text},
                                                {"hidden_size", AttributeKind::Int},
                                                {"clip", AttributeKind::Float},
                                                {"activations", AttributeKind::Texts},
                                                {"activation_alpha", AttributeKind::Floats},
                                                {"activation_beta", AttributeKind::Floats},
                                                {"layout", AttributeKind::Int},
                                                {"linear_before_reset", AttributeKind::Int},
                                                {"input_forget", AttributeKind::Int}}}));
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

std::span<const OperatorDeclaration> recurrentDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "RNN", 7, 0, "composed", true, bindRnn},
        OperatorDeclaration{"", "GRU", 7, 0, "composed", true, bindGru},
        OperatorDeclaration{"", "LSTM", 7, 0, "composed", true, bindLstm},
    };
    return kDeclarations;
}

} // namespace retro::ops
