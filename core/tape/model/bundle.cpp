// SPDX-License-Identifier: Apache-2.0
#include "core/tape/model/bundle.h"

#include "core/ops/algebra.h"

namespace retro::tape
{

using tensor::DType;
using tensor::Tensor;

namespace
{

bool isZero(const Tensor& tensor)
{
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        if (tensor.at(i) != 0) {
            return false;
        }
    }
    return true;
}

bool equalElements(const Tensor& a, const Tensor& b)
{
    for (std::int64_t i = 0; i < a.size(); ++i) {
        if (a.at(i) != b.at(i)) {
            return false;
        }
    }
    return true;
}

bool isNothing(const Tensor& tensor) { return !tensor.isValid() || isZero(tensor); }

bool equalByValue(const Tensor& a, const Tensor& b)
{
    if (!a.isValid() || !b.isValid()) {
        return isNothing(a) && isNothing(b);
    }
    return a.shape() == b.shape() && equalElements(a.contiguous(), b.contiguous());
}

bool fits(const Tensor& a, const Tensor& b) { return !a.isValid() || !b.isValid() || a.shape() == b.shape(); }

} // namespace

bool Bundle::operator==(const Bundle& other) const
{
    bool isEqual = tensors.size() == other.tensors.size();
    for (std::size_t k = 0; isEqual && k < tensors.size(); ++k) {
        isEqual = equalByValue(tensors[k], other.tensors[k]);
    }
    return isEqual;
}

bool Bundle::bitEqual(const Bundle& other) const
{
    bool isEqual = tensors.size() == other.tensors.size();
    for (std::size_t k = 0; isEqual && k < tensors.size(); ++k) {
        const Tensor& a = tensors[k];
        const Tensor& b = other.tensors[k];
        isEqual = a.isValid() == b.isValid() && (!a.isValid() || a.bitEqual(b));
    }
    return isEqual;
}

bool ValueTraits<Bundle>::sameShape(const Bundle& a, const Bundle& b)
{
    bool isSame = a.tensors.size() == b.tensors.size();
    for (std::size_t k = 0; isSame && k < a.tensors.size(); ++k) {
        isSame = fits(a.tensors[k], b.tensors[k]);
    }
    return isSame;
}

std::string ValueTraits<Bundle>::shapeText(const Bundle& a)
{
    std::string text;
    for (const Tensor& one : a.tensors) {
        text += text.empty() ? "" : ", ";
        text += one.isValid() ? tensor::toText(one.shape()) : "nothing";
    }
    return text;
}

Bundle ValueTraits<Bundle>::add(const Bundle& accumulator, const Bundle& part)
{
    Bundle sum = accumulator;
    for (std::size_t k = 0; k < sum.tensors.size(); ++k) {
        const Tensor& other = part.tensors[k];
        if (other.isValid()) {
            sum.tensors[k] = sum.tensors[k].isValid() ? ops::algebra::add(sum.tensors[k], other) : other;
        }
    }
    return sum;
}

Bundle ValueTraits<Bundle>::zeroLike(const Bundle& a)
{
    Bundle zeros;
    for (const Tensor& one : a.tensors) {
        // Weights that stay as they are stored, in 16 bits, are of no type that a pass adds in.
        const bool isAdded = one.isValid() && (one.dtype() == DType::Float32 || one.dtype() == DType::Float64);
        zeros.tensors.push_back(isAdded ? ops::algebra::filledLike(one, 0) : Tensor());
    }
    return zeros;
}

} // namespace retro::tape
