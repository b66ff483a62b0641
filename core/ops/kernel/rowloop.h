// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of any number types without a loop per function: one walk over the elements that calls a plain
// function for each row of neighbours.
#pragma once

#include "core/ops/kernel/registers.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace retro::ops
{

/// Attributes of a function.
struct RowParameters
{
    double a = 0;
    double b = 0;
};

/// Computes `count` results from as many elements of each operand; all lie without gaps. Results may take the place of
/// the elements of one operand.
using RowFunction = void (*)(const void* const* in, void* out, std::int64_t count, RowParameters parameters);

/// Most operands of a row function.
inline constexpr std::size_t kMostRowOperands = 4;

/// f over all elements of `shape`, to which the operands broadcast; they have the element types that f expects, and the
/// result has `out`. The result takes the strides of the first dense operand of that very shape.
[[nodiscard]] tensor::Tensor mapRows(RowFunction f, tensor::DType out, const tensor::Shape& shape,
                                     std::span<const tensor::Tensor> operands, RowParameters parameters = {});
[[nodiscard]] tensor::Tensor mapRows(RowFunction f, tensor::DType out, const tensor::Shape& shape,
                                     std::initializer_list<tensor::Tensor> operands, RowParameters parameters = {});

/// One function for each type that numbers are computed in; a null entry means that there is none.
struct NumberRows
{
    RowFunction f32 = nullptr;
    RowFunction f64 = nullptr;
    RowFunction i64 = nullptr;
    RowFunction u64 = nullptr;

    /// The function for a type as computingType() gives it.
    [[nodiscard]] RowFunction of(tensor::DType type) const;
};

/// The type that numbers of `type` are computed in: floating types and uint64 in their own, all other integers and bool
/// in int64, which wraps around as they do when it is narrowed.
[[nodiscard]] tensor::DType computingType(tensor::DType type);

/// f over operands of one number type: widened to the computing type, and the result narrowed to `out` again unless it
/// is bool, which f writes itself.
[[nodiscard]] tensor::Tensor mapNumbers(const NumberRows& f, tensor::DType out, const tensor::Shape& shape,
                                        std::span<const tensor::Tensor> operands, RowParameters parameters = {});
[[nodiscard]] tensor::Tensor mapNumbers(const NumberRows& f, tensor::DType out, const tensor::Shape& shape,
                                        std::initializer_list<tensor::Tensor> operands, RowParameters parameters = {});

/// Whether rows of F in T are compiled for every width of registers: `static constexpr bool kIsVectorised = true` in F,
/// whose value() calls no function of a library and has no branches.
template <class F, class T>
inline constexpr bool isVectorised = false;
template <class F>
requires requires { F::kIsVectorised; }
inline constexpr bool isVectorised<F, float> = F::kIsVectorised;

/// Rows of F, a struct with `template <class T> static Out value(T x [, T y [, T z]], RowParameters)`.
template <class F, class T, class Out = T>
void unaryRow(const void* const* in, void* out, std::int64_t count, RowParameters parameters)
{
    const auto* x = static_cast<const T*>(in[0]);
    auto* z = static_cast<Out*>(out);
    const auto row = [x, z, count, parameters] {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < count; ++i) {
            z[i] = static_cast<Out>(F::value(x[i], parameters));
        }
    };
    if constexpr (isVectorised<F, T>) {
        onWidestRegisters(row);
    } else {
        row();
    }
}
template <class F, class T, class Out = T>
void binaryRow(const void* const* in, void* out, std::int64_t count, RowParameters parameters)
{
    const auto* x = static_cast<const T*>(in[0]);
    const auto* y = static_cast<const T*>(in[1]);
    auto* z = static_cast<Out*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
        z[i] = static_cast<Out>(F::value(x[i], y[i], parameters));
    }
}
template <class F, class T>
void ternaryRow(const void* const* in, void* out, std::int64_t count, RowParameters parameters)
{
    const auto* x = static_cast<const T*>(in[0]);
    const auto* y = static_cast<const T*>(in[1]);
    const auto* w = static_cast<const T*>(in[2]);
    auto* z = static_cast<T*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
        z[i] = static_cast<T>(F::value(x[i], y[i], w[i], parameters));
    }
}

/// F for floats, for integers, for all numbers.
template <class F>
constexpr NumberRows unaryFloats()
{
    return {unaryRow<F, float>, unaryRow<F, double>, nullptr, nullptr};
}
template <class F>
constexpr NumberRows unaryNumbers()
{
    return {unaryRow<F, float>, unaryRow<F, double>, unaryRow<F, std::int64_t>, unaryRow<F, std::uint64_t>};
}
template <class F>
constexpr NumberRows binaryFloats()
{
    return {binaryRow<F, float>, binaryRow<F, double>, nullptr, nullptr};
}
template <class F>
constexpr NumberRows binaryIntegers()
{
    return {nullptr, nullptr, binaryRow<F, std::int64_t>, binaryRow<F, std::uint64_t>};
}
template <class F>
constexpr NumberRows binaryNumbers()
{
    return {binaryRow<F, float>, binaryRow<F, double>, binaryRow<F, std::int64_t>, binaryRow<F, std::uint64_t>};
}
template <class F>
constexpr NumberRows ternaryFloats()
{
    return {ternaryRow<F, float>, ternaryRow<F, double>, nullptr, nullptr};
}
/// Results are bool.
template <class F>
constexpr NumberRows comparisonRows()
{
    return {binaryRow<F, float, bool>, binaryRow<F, double, bool>, binaryRow<F, std::int64_t, bool>,
            binaryRow<F, std::uint64_t, bool>};
}

} // namespace retro::ops
