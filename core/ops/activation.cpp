// SPDX-License-Identifier: Apache-2.0
#include "core/ops/activation.h"

#include "core/ops/bindcheck.h"
#include "core/ops/families.h"

#include <array>

namespace retro::ops
{

namespace
{

/// max(x, 0); NaN stays NaN. The derivative at 0 is 0.
struct Relu
{
    static constexpr bool kReadsOutput = true;
    static constexpr bool kIsRelu = true;

    template <class T>
    [[nodiscard]] T value(T x) const
    {
        return x <= T{0} ? T{0} : x;
    }
    template <class T>
    [[nodiscard]] T slope(T y) const
    {
        return y > T{0} ? T{1} : T{0};
    }
};

BoundResult bindRelu(const BindContext& context)
{
    RETRO_CHECK(expectArity(context, 1, 1));
    RETRO_CHECK(expectFloats(context, {0}));
    return bound<Activation<Relu>>(firstType(context), Relu{});
}

} // namespace

std::span<const OperatorDeclaration> activationDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Relu", 1, 0, "element-wise", true, bindRelu},
    };
    return kDeclarations;
}

} // namespace retro::ops
