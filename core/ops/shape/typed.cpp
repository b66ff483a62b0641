// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/lookup.h"
#include "core/ops/shape/elementtype.h"
#include "core/ops/shape/known.h"
#include "core/tensor/tensor.h"
#include "core/tensor/visit.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <type_traits>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// As the processor's conversion has it: what is out of range, or no number, becomes the least number.
template <class Integer>
Integer truncated(double value)
{
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<Integer>::min());
    const bool isInside = value > kLeast - 1 && value < -kLeast; // of int64, kLeast − 1 is kLeast: the same result
    return isInside ? static_cast<Integer>(value) : std::numeric_limits<Integer>::min();
}

template <class To>
To wrapped(double value)
{
    if constexpr (std::is_same_v<To, std::uint64_t>) {
        constexpr double kHalf = 0x1p63;
        const bool isUpper = value >= kHalf;
        const auto low = static_cast<std::uint64_t>(truncated<std::int64_t>(isUpper ? value - kHalf : value));
        return isUpper ? low ^ (1ULL << 63U) : low;
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, std::uint32_t>) {
        return static_cast<To>(truncated<std::int64_t>(value));
    } else {
        return static_cast<To>(truncated<std::int32_t>(value));
    }
}

template <class From, class To>
void convertWrapped(const Tensor& source, tensor::TensorBuffer& made)
{
    const auto* in = reinterpret_cast<const typename From::Bits*>(source.rawData());
    To* out = made.data<To>();
    for (std::int64_t i = 0; i < source.size(); ++i) {
        out[i] = wrapped<To>(static_cast<double>(From::load(in[i])));
    }
}

/// Numbers as integers of a wide type, towards zero. What the type does not hold has no meaning in the ONNX standard;
/// it becomes what x86-64 makes of it, as in other runtimes there. Types of at most 16 bits take the lowest
/// bits of the number in int32; int32 and int64 their least number; uint32 the lowest bits of the number in int64;
/// uint64 wraps once, and what is 2^64 or more becomes 0. NaN is beyond every type. Integers become integers by their
/// lowest bits. Tensor::to() cuts to the range instead.
Tensor toWrapped(const Tensor& numbers, DType integers)
{
    const bool hasFractions = tensor::isFloating(numbers.dtype()) || tensor::isNarrowFloat(numbers.dtype());
    if (!hasFractions || tensor::isFloating(integers) || tensor::isNarrow(integers) || integers == DType::Bool) {
        return numbers.to(integers);
    }
    const Tensor source = (tensor::isNarrow(numbers.dtype()) ? tensor::widened(numbers) : numbers).contiguous();
    tensor::TensorBuffer made(integers, source.shape());
    tensor::visitWide(source.dtype(), [&](auto fromTag) {
        tensor::visitWide(integers, [&](auto toTag) {
            using To = typename decltype(toTag)::Value;
            if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
                convertWrapped<decltype(fromTag), To>(source, made);
            }
        });
    });
    return std::move(made).freeze();
}

/// Another element type. Between floating types forward() is the identity: a run has one floating type, and run()
/// rounds to what the type holds.
class Cast final : public Operator<ShapeMap>, public TokenMap
{
public:
    /// `example`: of operand 1, which only names the type.
    Cast(TensorType output, DType from, tensor::NarrowRounding rounding, TensorType example)
        : Operator(std::move(output)), m_from(from), m_rounding(rounding), m_example(std::move(example))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const DType to = m_outputTypes[0].dtype;
        const bool isRounded = tensor::isNarrow(to) && to != m_from;
        return {isRounded ? tensor::narrowed(operands[0], to, m_rounding) : toWrapped(operands[0], to)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        if (slot > 0) {
            return Tensor::zeros(m_example.dtype, m_example.shape);
        }
        return perOutput[0].isValid() ? perOutput[0] : Tensor::zeros(m_from, m_outputTypes[0].shape);
    }

private:
    DType m_from;
    tensor::NarrowRounding m_rounding;
    TensorType m_example;
};

BoundResult boundCast(const BindContext& context, DType target)
{
    const TensorType& operand = firstType(context);
    const bool isSameKind = tensor::isFloating(target) && tensor::isFloating(operand.dtype);
    RETRO_TRY(const tensor::NarrowRounding rounding, narrowRounding(context));
    return bound<Cast>(TensorType{isSameKind ? operand.dtype : target, operand.shape}, operand.dtype, rounding,
                       context.operandTypes.back());
}

BoundResult bindCast(const BindContext& context)
{
    RETRO_TRY(const DType target, elementType(context, "to"));
    return boundCast(context, target);
}

BoundResult bindCastLike(const BindContext& context) { return boundCast(context, context.operandTypes[1].dtype); }

BoundResult bindShape(const BindContext& context)
{
    const Shape& shape = firstType(context).shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto plain = [rank](std::int64_t axis) {
        return std::clamp<std::int64_t>(axis < 0 ? std::max(axis, -rank) + rank : axis, 0, rank);
    };
    const std::int64_t start = plain(context.intAttribute("start", 0));
    const std::int64_t end = std::max(start, plain(context.intAttribute("end", rank)));
    const Shape part(shape.begin() + start, shape.begin() + end);
    return boundKnown(Tensor::of<std::int64_t>({end - start}, part));
}

BoundResult bindConstantOfShape(const BindContext& context)
{
    RETRO_TRY(const Shape shape, context.constantInts(0));
    RETRO_CHECK(expectSize(context, shape));
    const auto found = context.node.attributes.find("value");
    if (found == context.node.attributes.end()) {
        const TensorType type{context.floatType, shape};
        return bound<Made>(type, [type] { return Tensor::zeros(type.dtype, type.shape); });
    }
    const Tensor& value = std::get<Tensor>(found->second);
    if (value.size() != 1) {
        return context.error(fmt::format("value has {} elements, but must have one", value.size()));
    }
    const Tensor one = tensor::isFloating(value.dtype()) ? value.to(context.floatType) : value;
    const Tensor repeated(one.dtype(), shape, Shape(shape.size(), 0), one.offset(), one.storage());
    return bound<Made>(TensorType{one.dtype(), shape}, [repeated] { return repeated.contiguous(); });
}

BoundResult bindSize(const BindContext& context)
{
    return boundKnown(Tensor::scalar(tensor::elementCount(firstType(context).shape)));
}

/// A matrix of zeros with ones at (row, row + k).
Tensor onesOnDiagonal(const TensorType& type, std::int64_t k)
{
    const std::int64_t rows = type.shape[0];
    const std::int64_t columns = type.shape[1];
    const Tensor one = Tensor::full(type.dtype, {}, 1);
    const auto width = static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    tensor::TensorBuffer buffer(type.dtype, type.shape);
    buffer.clear();
    const bool isInside = k > -rows && k < columns; // then k and rows can be added
    const std::int64_t first = isInside ? std::max<std::int64_t>(0, -k) : rows;
    for (std::int64_t row = first; row < rows && row + k < columns; ++row) {
        std::memcpy(buffer.rawData() + (row * columns + row + k) * width, one.rawData(),
                    static_cast<std::size_t>(width));
    }
    return std::move(buffer).freeze();
}

BoundResult bindEyeLike(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    if (operand.shape.size() != 2) {
        return context.error("the operand must be a matrix (rank 2)");
    }
    DType type = operand.dtype;
    if (context.node.attributes.find("dtype") != context.node.attributes.end()) {
        RETRO_TRY(type, elementType(context, "dtype"));
    }
    const TensorType result{type, operand.shape};
    return bound<Made>(result, [result, k = context.intAttribute("k", 0)] { return onesOnDiagonal(result, k); });
}

} // namespace

const OperatorFamily kTypedOperators{
    {"", "Cast", 1, 0, "shape map, no relevance", true, bindCast, true, Elements::Converted},
    {"", "CastLike", 15, 0, "shape map, no relevance", true, bindCastLike, true, Elements::Converted},
    {"", "ConstantOfShape", 9, 0, "no relevance", false, bindConstantOfShape},
    {"", "EyeLike", 9, 0, "no relevance", false, bindEyeLike},
    {"", "Size", 1, 0, "no relevance", false, bindSize, true},
    {"", "Shape", 1, 0, "no relevance", false, bindShape, true},
};

} // namespace retro::ops
