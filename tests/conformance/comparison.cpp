// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/comparison.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::conformance
{

using tensor::DType;
using tensor::Tensor;

namespace
{

bool isHalf(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

bool isClose(double actual, double expected, Tolerance tolerance)
{
    if (std::isnan(expected) || std::isinf(expected)) {
        return std::isnan(expected) ? std::isnan(actual) : actual == expected;
    }
    return std::abs(actual - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::string firstDifference(const Tensor& actual, const Tensor& expected, Tolerance tolerance)
{
    std::int64_t wrong = 0;
    std::string first;
    for (std::int64_t i = 0; i < expected.size(); ++i) {
        if (!isClose(actual.at(i), expected.at(i), tolerance)) {
            first = wrong++ > 0 ? first : fmt::format("element {} is {}, not {}", i, actual.at(i), expected.at(i));
        }
    }
    return wrong == 0 ? first : fmt::format("{} of {} elements differ; {}", wrong, expected.size(), first);
}

} // namespace

Tolerance toleranceOf(const std::string& caseName, DType expected)
{
    if (caseName.starts_with("mnist_cntk")) {
        return {1e-3, 1e-2}; // logits in the thousands, published with few digits
    }
    if (caseName.find("/case_") != std::string::npos) {
        return {1e-3, 1e-4};
    }
    if (isHalf(expected)) {
        const bool isAttention = caseName.find("attention") != std::string::npos;
        return isAttention ? Tolerance{2e-2, 2e-3} : Tolerance{1e-2, 1e-3};
    }
    return {};
}

std::string compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance)
{
    if (!actual.isValid()) {
        return "it was not computed";
    }
    if (actual.shape() != expected.shape()) {
        return fmt::format("the shape is [{}], not [{}]", tensor::toText(actual.shape()),
                           tensor::toText(expected.shape()));
    }
    if (actual.dtype() != expected.dtype()) {
        return fmt::format("the type is {}, not {}", tensor::nameOf(actual.dtype()), tensor::nameOf(expected.dtype()));
    }
    return firstDifference(actual, expected, tensor::isFloating(expected.dtype()) ? tolerance : Tolerance{0, 0});
}

} // namespace retro::conformance
