// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/pairwiseprobability.h"

#include <algorithm>
#include <cmath>

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

} // namespace

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

} // namespace retro::ops
