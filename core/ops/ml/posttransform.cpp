// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/posttransform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace retro::ops
{

namespace
{

constexpr std::array<std::string_view, 5> kTransforms{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
constexpr double kNearZeroScore = 1e-7; // below it, SOFTMAX_ZERO takes a score for 0

double logisticOf(double x) { return 1 / (1 + std::exp(-x)); }

/// Inverse error function as onnxruntime approximates it (S. Winitzki), so that its numbers are met.
double inverseError(double x)
{
    const double sign = x < 0 ? -1 : 1;
    const double log = std::log((1 - x) * (1 + x));
    const double v = 2 / (std::numbers::pi * 0.147) + 0.5 * log;
    return sign * std::sqrt(-v + std::sqrt(v * v - log / 0.147));
}

double probitOf(double x) { return std::numbers::sqrt2 * inverseError(2 * x - 1); }

void softmaxOf(std::vector<double>& scores, bool keepsZeros)
{
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) {
        const bool counts = !keepsZeros || std::abs(score) > kNearZeroScore;
        score = counts ? std::exp(score - most) : score * std::exp(-most);
        sum += counts ? score : 0;
    }
    for (double& score : scores) {
        score /= sum;
    }
}

std::vector<double> withSecondClass(double score, PostTransform transform, SecondClass second)
{
    if (transform == PostTransform::Logistic) {
        return {logisticOf(-score), logisticOf(score)};
    }
    return {second == SecondClass::Complement ? 1 - score : -score, score};
}

} // namespace

base::Result<PostTransform> postTransformOf(const BindContext& context)
{
    const std::string name = context.textAttribute("post_transform", "NONE");
    const auto at = std::find(kTransforms.begin(), kTransforms.end(), name);
    if (at == kTransforms.end()) {
        return context.error(fmt::format("post_transform '{}' is not known; NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and "
                                         "PROBIT are",
                                         name));
    }
    return static_cast<PostTransform>(at - kTransforms.begin());
}

std::string nameOf(PostTransform transform)
{
    return transform == PostTransform::None ? std::string()
                                            : std::string(kTransforms[static_cast<std::size_t>(transform)]);
}

std::vector<double> transformed(std::vector<double> scores, PostTransform transform, SecondClass second)
{
    if (scores.size() == 1 && transform != PostTransform::Probit) {
        return second == SecondClass::None ? scores : withSecondClass(scores[0], transform, second);
    }
    switch (transform) {
    case PostTransform::None:
        break;
    case PostTransform::Softmax:
    case PostTransform::SoftmaxZero:
        softmaxOf(scores, transform == PostTransform::SoftmaxZero);
        break;
    case PostTransform::Logistic:
        std::transform(scores.begin(), scores.end(), scores.begin(), logisticOf);
        break;
    case PostTransform::Probit:
        std::transform(scores.begin(), scores.end(), scores.begin(), probitOf);
        break;
    }
    return scores;
}

} // namespace retro::ops
