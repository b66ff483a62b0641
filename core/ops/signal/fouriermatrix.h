// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <utility>

namespace retro::ops
{

/// A discrete Fourier transform of one axis as a real matrix.
struct FourierForm
{
    std::int64_t signal = 1;     ///< elements that are given
    std::int64_t components = 1; ///< 1: real, 2: real and imaginary
    std::int64_t length = 1;     ///< of the transform: the signal is cut or filled with zeros
    std::int64_t bins = 1;       ///< of the result, the first ones
    bool isInverse = false;      ///< the other sign, divided by the length
    bool isHalf = false; ///< inverse of the first half of a real signal's spectrum; the result is that signal, real
};

/// Longest transform: the matrix of a longer one would not be worth its memory.
inline constexpr std::int64_t kMaxTransform = 8192;

/// Numbers of each bin of the result: 2, real and imaginary, or 1 where it is a real signal.
[[nodiscard]] inline std::int64_t resultComponents(const FourierForm& form) { return form.isHalf ? 1 : 2; }

/// (signal·components) × (bins·resultComponents), so that rows of signals times it are rows of spectra.
[[nodiscard]] tensor::Tensor fourierMatrix(tensor::DType type, const FourierForm& form);

/// What the Fourier transforms of an operator multiply rows of signals by.
class FourierRows
{
public:
    explicit FourierRows(tensor::Tensor matrix) : m_matrix(std::move(matrix)) {}
    virtual ~FourierRows() = default;
    /// As fourierMatrix() makes it.
    [[nodiscard]] const tensor::Tensor& matrix() const { return m_matrix; }
    /// The axis that is transformed; of overlapping frames, which have none, 0.
    [[nodiscard]] virtual std::size_t axis() const { return 0; }

protected:
    tensor::Tensor m_matrix;
};

} // namespace retro::ops
