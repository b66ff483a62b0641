// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/ml/nodelists.h"
#include "core/ops/ml/posttransform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

/// Support vector machines of ONNX-ML. Relevance through kernels is not defined here, so none passes.

namespace retro::ops
{

namespace
{

using PairTable = std::vector<std::vector<double>>;

constexpr int kMostRounds = 100;
constexpr double kLeastProbability = 1e-7;

/// 1 / (1 + exp(decision·a + b)).
double pairProbability(double decision, double a, double b)
{
    const double v = decision * a + b;
    return v >= 0 ? std::exp(-v) / (1 + std::exp(-v)) : 1 / (1 + std::exp(v));
}

/// p[i][j]: probability of i where only i and j are possible.
PairTable pairProbabilities(std::size_t classes, std::span<const double> decisions, std::span<const double> a,
                            std::span<const double> b)
{
    PairTable p(classes, std::vector<double>(classes));
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes; ++i) {
        for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
            p[i][j] = std::clamp(pairProbability(decisions[pair], a[pair], b[pair]), kLeastProbability,
                                 1 - kLeastProbability);
            p[j][i] = 1 - p[i][j];
        }
    }
    return p;
}

PairTable quadraticForm(const PairTable& p)
{
    PairTable q(p.size(), std::vector<double>(p.size()));
    for (std::size_t i = 0; i < p.size(); ++i) {
        for (std::size_t j = 0; j < p.size(); ++j) {
            if (i != j) {
                q[i][i] += p[j][i] * p[j][i];
                q[i][j] = -p[j][i] * p[i][j];
            }
        }
    }
    return q;
}

double innerProduct(const std::vector<double>& a, const std::vector<double>& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// Probabilities of `classes` classes from the decisions of every pair (i, j), i < j, in that order: a logistic
/// function of each with a and b, coupled by the second method of Wu, Lin and Weng (2004), as libsvm does it.
std::vector<double> pairwiseProbabilities(std::size_t classes, std::span<const double> decisions,
                                          std::span<const double> a, std::span<const double> b)
{
    const PairTable q = quadraticForm(pairProbabilities(classes, decisions, a, b));
    std::vector<double> p(classes, 1.0 / static_cast<double>(classes));
    std::vector<double> qp(classes);
    for (int round = 0; round < kMostRounds; ++round) {
        std::transform(q.begin(), q.end(), qp.begin(), [&p](const auto& row) { return innerProduct(row, p); });
        double whole = innerProduct(p, qp);
        const auto isFar = [&](double own) { return std::abs(own - whole) >= 0.005 / static_cast<double>(classes); };
        if (std::none_of(qp.begin(), qp.end(), isFar)) {
            break;
        }
        for (std::size_t i = 0; i < classes; ++i) {
            const double step = (whole - qp[i]) / q[i][i];
            p[i] += step;
            whole = (whole + step * (step * q[i][i] + 2 * qp[i])) / (1 + step) / (1 + step);
            for (std::size_t j = 0; j < classes; ++j) {
                qp[j] = (qp[j] + step * q[i][j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
    return p;
}

using tensor::DType;
using tensor::Shape;

enum class KernelType : std::uint8_t { Linear, Polynomial, Radial, Sigmoid };

/// k(x, v) for every support vector v.
struct SupportKernel
{
    KernelType type = KernelType::Linear;
    double gamma = 0;
    double offset = 0;
    double degree = 0;
    std::int64_t features = 0;
    std::vector<double> vectors; ///< vectors × features

    template <class T>
    [[nodiscard]] double of(const T* x, std::size_t vector) const
    {
        const double* v = vectors.data() + vector * static_cast<std::size_t>(features);
        double sum = 0;
        for (std::int64_t f = 0; f < features; ++f) {
            const double difference = static_cast<double>(x[f]) - v[f];
            sum += type == KernelType::Radial ? difference * difference : static_cast<double>(x[f]) * v[f];
        }
        switch (type) {
        case KernelType::Linear:
            return sum;
        case KernelType::Polynomial:
            return std::pow(gamma * sum + offset, degree);
        case KernelType::Radial:
            return std::exp(-gamma * sum);
        case KernelType::Sigmoid:
            break;
        }
        return std::tanh(gamma * sum + offset);
    }

    [[nodiscard]] std::vector<double> ofSample(const Tensor& x, std::int64_t sample) const
    {
        const std::size_t count = features == 0 ? 0 : vectors.size() / static_cast<std::size_t>(features);
        std::vector<double> values(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = x.dtype() == DType::Float32 ? of(x.span<float>().data() + sample * features, i)
                                                    : of(x.span<double>().data() + sample * features, i);
        }
        return values;
    }
};

base::Result<SupportKernel> supportKernel(const BindContext& context, const SampleRows& rows, std::string_view vectors)
{
    static constexpr std::array<std::string_view, 4> kNames{"LINEAR", "POLY", "RBF", "SIGMOID"};
    const std::string name = context.textAttribute("kernel_type", "LINEAR");
    const auto at = std::find(kNames.begin(), kNames.end(), name);
    if (at == kNames.end()) {
        return context.error(fmt::format("kernel_type '{}' is not known; LINEAR, POLY, RBF and SIGMOID are", name));
    }
    SupportKernel kernel;
    kernel.type = static_cast<KernelType>(at - kNames.begin());
    kernel.features = rows.features;
    kernel.vectors = realsOf(context, std::string(vectors));
    const std::vector<double> parameters = realsOf(context, "kernel_params");
    if (!parameters.empty() && parameters.size() != 3) {
        return context.error("kernel_params needs three numbers: gamma, coef0, degree");
    }
    if (!parameters.empty()) {
        kernel.gamma = parameters[0];
        kernel.offset = parameters[1];
        kernel.degree = parameters[2];
    }
    if (rows.features < 1 || kernel.vectors.empty() ||
        kernel.vectors.size() % static_cast<std::size_t>(rows.features) != 0) {
        return context.error(fmt::format("{} has {} numbers, which are no rows of {} features", vectors,
                                         kernel.vectors.size(), rows.features));
    }
    return kernel;
}

class SupportRegressor final : public PassiveOperator
{
public:
    SupportRegressor(TensorType output, SampleRows rows, SupportKernel kernel, std::vector<double> coefficients,
                     double rho, bool isOneClass)
        : m_rows(rows), m_kernel(std::move(kernel)), m_coefficients(std::move(coefficients)), m_rho(rho),
          m_isOneClass(isOneClass)
    {
        m_outputTypes.push_back(std::move(output));
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = asReals(operands[0]);
        tensor::TensorBuffer y(m_outputTypes[0].dtype, m_outputTypes[0].shape);
        visitFloat(m_outputTypes[0].dtype, [&](auto zero) {
            using T = decltype(zero);
            for (std::int64_t n = 0; n < m_rows.samples; ++n) {
                const std::vector<double> kernels = m_kernel.ofSample(x, n);
                const double sum =
                    std::inner_product(kernels.begin(), kernels.end(), m_coefficients.begin(), 0.0) + m_rho;
                const double sign = sum > 0 ? 1 : -1;
                y.data<T>()[n] = static_cast<T>(m_isOneClass ? sign : sum);
            }
        });
        return {std::move(y).freeze()};
    }

private:
    SampleRows m_rows;
    SupportKernel m_kernel;
    std::vector<double> m_coefficients;
    double m_rho;
    bool m_isOneClass;
};

BoundResult bindSupportRegressor(const BindContext& context)
{
    RETRO_TRY(const SampleRows rows, sampleRows(context));
    const std::int64_t supports = context.intAttribute("n_supports", 0);
    const bool hasVectors = supports > 0;
    RETRO_TRY(SupportKernel kernel, supportKernel(context, rows, hasVectors ? "support_vectors" : "coefficients"));
    const auto given = static_cast<std::int64_t>(kernel.vectors.size()) / rows.features;
    if (hasVectors && given != supports) {
        return context.error(fmt::format("n_supports is {}, but support_vectors has {} rows of {} features", supports,
                                         given, rows.features));
    }
    std::vector<double> coefficients = hasVectors ? realsOf(context, "coefficients") : std::vector<double>{1};
    const std::vector<double> rho = realsOf(context, "rho");
    if (coefficients.size() * static_cast<std::size_t>(rows.features) != kernel.vectors.size() || rho.size() != 1) {
        return context.error(fmt::format("{} coefficients do not fit {} numbers of support vectors, or rho is not one "
                                         "number",
                                         coefficients.size(), kernel.vectors.size()));
    }
    if (context.textAttribute("post_transform", "NONE") == "PROBIT") {
        return context.error("post_transform PROBIT is not supported");
    }
    const Shape shape{rows.samples, 1};
    RETRO_CHECK(expectSize(context, shape));
    return bound<SupportRegressor>(TensorType{context.floatType, shape}, rows, std::move(kernel),
                                   std::move(coefficients), rho[0], context.intAttribute("one_class", 0) != 0);
}

/// What a classifier holds beside its kernel.
struct SupportClasses
{
    std::vector<std::int64_t> labels;
    std::vector<std::size_t> first;   ///< per class: its first support vector; then their count
    std::vector<double> coefficients; ///< (classes − 1) × vectors
    std::vector<double> rho;          ///< per pair of classes
    std::vector<double> probabilityA; ///< per pair; empty: scores are those of the pairs
    std::vector<double> probabilityB;
    PostTransform transform = PostTransform::None;

    [[nodiscard]] std::size_t pairs() const { return labels.size() * (labels.size() - 1) / 2; }
};

class SupportClassifier final : public PassiveOperator
{
public:
    SupportClassifier(std::vector<TensorType> outputs, SampleRows rows, SupportKernel kernel, SupportClasses classes)
        : m_rows(rows), m_kernel(std::move(kernel)), m_classes(std::move(classes))
    {
        m_outputTypes = std::move(outputs);
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = asReals(operands[0]);
        tensor::TensorBuffer labels(DType::Int64, m_outputTypes[0].shape);
        tensor::TensorBuffer scores(m_outputTypes[1].dtype, m_outputTypes[1].shape);
        const std::int64_t columns = m_outputTypes[1].shape[1];
        visitFloat(m_outputTypes[1].dtype, [&](auto zero) {
            using T = decltype(zero);
            for (std::int64_t n = 0; n < m_rows.samples; ++n) {
                std::vector<double> ofPairs = decisions(m_kernel.ofSample(x, n));
                labels.data<std::int64_t>()[n] = m_classes.labels[elected(ofPairs)];
                const std::vector<double> row = scoresOf(std::move(ofPairs));
                std::transform(row.begin(), row.end(), scores.data<T>() + n * columns,
                               [](double score) { return static_cast<T>(score); });
            }
        });
        return {std::move(labels).freeze(), std::move(scores).freeze()};
    }

private:
    /// Sum of one class's support vectors against another.
    [[nodiscard]] double part(const std::vector<double>& kernels, std::size_t own, std::size_t row) const
    {
        double sum = 0;
        for (std::size_t v = m_classes.first[own]; v < m_classes.first[own + 1]; ++v) {
            sum += m_classes.coefficients[row * kernels.size() + v] * kernels[v];
        }
        return sum;
    }

    /// Above 0: the first class of the pair.
    [[nodiscard]] std::vector<double> decisions(const std::vector<double>& kernels) const
    {
        std::vector<double> values;
        for (std::size_t i = 0; i < m_classes.labels.size(); ++i) {
            for (std::size_t j = i + 1; j < m_classes.labels.size(); ++j) {
                values.push_back(part(kernels, i, j - 1) + part(kernels, j, i) + m_classes.rho[values.size()]);
            }
        }
        return values;
    }

    /// The class that wins most pairs; the first of equal ones.
    [[nodiscard]] std::size_t elected(const std::vector<double>& ofPairs) const
    {
        std::vector<std::size_t> votes(m_classes.labels.size());
        std::size_t pair = 0;
        for (std::size_t i = 0; i < votes.size(); ++i) {
            for (std::size_t j = i + 1; j < votes.size(); ++j) {
                ++votes[ofPairs[pair++] > 0 ? i : j];
            }
        }
        return static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    }

    [[nodiscard]] std::vector<double> scoresOf(std::vector<double> ofPairs) const
    {
        if (!m_classes.probabilityA.empty()) {
            return transformed(
                pairwiseProbabilities(m_classes.labels.size(), ofPairs, m_classes.probabilityA, m_classes.probabilityB),
                m_classes.transform, SecondClass::None);
        }
        const bool isPlain = m_classes.transform == PostTransform::None;
        return transformed(std::move(ofPairs), m_classes.transform,
                           isPlain ? SecondClass::Negative : SecondClass::Complement);
    }

    SampleRows m_rows;
    SupportKernel m_kernel;
    SupportClasses m_classes;
};

base::Result<SupportClasses> supportClasses(const BindContext& context, std::size_t vectors)
{
    SupportClasses classes;
    classes.labels = context.intsAttribute("classlabels_ints", {});
    classes.coefficients = realsOf(context, "coefficients");
    classes.rho = realsOf(context, "rho");
    classes.probabilityA = realsOf(context, "prob_a");
    classes.probabilityB = realsOf(context, "prob_b");
    RETRO_TRY(classes.transform, postTransformOf(context));
    const auto perClass = context.intsAttribute("vectors_per_class", {});
    const std::size_t count = classes.labels.size();
    classes.first.push_back(0);
    for (const std::int64_t own : perClass) {
        if (own < 0 || static_cast<std::size_t>(own) > vectors) {
            return context.error("vectors_per_class has a number that no class can have");
        }
        classes.first.push_back(classes.first.back() + static_cast<std::size_t>(own));
    }
    const bool fits = count >= 2 && perClass.size() == count && classes.first.back() == vectors &&
                      classes.coefficients.size() == (count - 1) * vectors && classes.rho.size() == classes.pairs();
    if (!fits) {
        return context.error("labels, vectors_per_class, coefficients and rho do not fit each other; a classifier "
                             "without support vectors is not supported");
    }
    const bool hasProbabilities = !classes.probabilityA.empty();
    if (classes.probabilityA.size() != classes.probabilityB.size() ||
        (hasProbabilities && classes.probabilityA.size() != classes.pairs())) {
        return context.error("prob_a and prob_b need one number per pair of classes");
    }
    if (classes.transform == PostTransform::Probit) {
        return context.error("post_transform PROBIT is not supported");
    }
    return classes;
}

BoundResult bindSupportClassifier(const BindContext& context)
{
    RETRO_TRY(const SampleRows rows, sampleRows(context));
    RETRO_TRY(SupportKernel kernel, supportKernel(context, rows, "support_vectors"));
    RETRO_TRY(SupportClasses classes,
              supportClasses(context, kernel.vectors.size() / static_cast<std::size_t>(rows.features)));
    const bool isPair = classes.labels.size() == 2 || !classes.probabilityA.empty();
    const Shape shape{rows.samples, static_cast<std::int64_t>(isPair ? classes.labels.size() : classes.pairs())};
    RETRO_CHECK(expectSize(context, shape));
    return bound<SupportClassifier>(std::vector<TensorType>{{DType::Int64, {rows.samples}}, {context.floatType, shape}},
                                    rows, std::move(kernel), std::move(classes));
}

} // namespace

const OperatorFamily kSupportVectorOperators{
    {"ai.onnx.ml", "SVMRegressor", 1, 5, "no relevance", false, bindSupportRegressor},
    {"ai.onnx.ml", "SVMClassifier", 1, 5, "no relevance", false, bindSupportClassifier},
};

} // namespace retro::ops
