// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention of what is no number, and of what is masked everywhere.
#include "core/ops/attention/attentioncore.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <vector>

using namespace retro::ops;

namespace
{

constexpr std::int64_t kTokens = 3;
constexpr std::int64_t kWidth = 2;

Tensor floats(const retro::tensor::Shape& shape, const std::vector<float>& numbers)
{
    return Tensor::of<float>(shape, numbers);
}

AttentionForm formOf()
{
    AttentionForm form;
    form.queries = form.keys = kTokens;
    form.width = form.valueWidth = kWidth;
    return form;
}

Tensor rows(float first) { return floats({1, 1, kTokens, kWidth}, {first, first, 1, 2, 3, 4}); }

} // namespace

class AttentionTest : public QObject
{
    Q_OBJECT

private slots:
    void whatIsNoNumberStaysSo()
    {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const Tensor y = attended(formOf(), rows(nan), rows(1), rows(1), {});
        const AttentionValues values = attend(formOf(), rows(nan), rows(1), rows(1), {});
        for (std::int64_t i = 0; i < y.size(); ++i) {
            QCOMPARE(std::isnan(y.at(i)), i < kWidth); // the first query alone
            QCOMPARE(std::isnan(values.y.at(i)), i < kWidth);
        }
        for (std::int64_t i = 0; i < values.probabilities.size(); ++i) {
            QCOMPARE(std::isnan(values.probabilities.at(i)), i < kTokens);
        }
    }

    void numbersBesideMaskedOnesThatAreNoneStaySo()
    {
        const float infinite = std::numeric_limits<float>::infinity();
        const float nan = std::numeric_limits<float>::quiet_NaN();
        AttentionMask mask;
        mask.bias = floats({1, 1, 1, kTokens}, {nan, -infinite, -infinite});
        const Tensor y = attended(formOf(), rows(1), rows(1), rows(1), mask);
        for (std::int64_t i = 0; i < y.size(); ++i) {
            QVERIFY(std::isnan(y.at(i)));
        }
    }

    void whatIsMaskedEverywhereIsZero()
    {
        const float infinite = std::numeric_limits<float>::infinity();
        AttentionMask mask;
        mask.bias = floats({1, 1, 1, kTokens}, {-infinite, -infinite, -infinite});
        const Tensor y = attended(formOf(), rows(1), rows(1), rows(1), mask);
        for (std::int64_t i = 0; i < y.size(); ++i) {
            QCOMPARE(y.at(i), 0.0);
        }
    }

    /// A window of keys around the place of each query: three values of 1, 3 and 8, all scores alike.
    void keysOutsideTheWindowAreNotSeen()
    {
        struct Case
        {
            std::int64_t left;
            std::int64_t right;
            bool isCausal;
            std::vector<double> expected;
        };
        const std::vector<Case> cases{{-1, -1, false, {4, 4, 4}},  {0, 0, false, {1, 3, 8}},
                                      {1, -1, false, {4, 4, 5.5}}, {-1, 1, false, {2, 4, 4}},
                                      {1, -1, true, {1, 2, 5.5}},  {0, 9, true, {1, 3, 8}}};
        const Tensor q = Tensor::zeros(retro::tensor::DType::Float32, {1, 1, kTokens, kWidth});
        const Tensor v = floats({1, 1, kTokens, kWidth}, {1, 1, 3, 3, 8, 8});
        for (const Case& one : cases) {
            AttentionForm form = formOf();
            form.left = one.left;
            form.right = one.right;
            form.isCausal = one.isCausal;
            const Tensor y = attended(form, q, q, v, {});
            for (std::size_t row = 0; row < one.expected.size(); ++row) {
                QCOMPARE(y.at(static_cast<std::int64_t>(row) * kWidth), one.expected[row]);
            }
        }
        AttentionForm behind = formOf(); // two keys come before the first query
        behind.queries = 1;
        behind.past = 2;
        behind.left = 1;
        QCOMPARE(attended(behind, floats({1, 1, 1, kWidth}, {0, 0}), q, v, {}).at(0), 5.5);
    }

    /// Of an image that is shorter than the queries, the last ones are padding: their keys are not read.
    void paddingBehindTheQueries()
    {
        AttentionForm form = formOf();
        form.batch = 2;
        form.isCausal = true;
        const Tensor q = Tensor::zeros(retro::tensor::DType::Float32, {2, 1, kTokens, kWidth});
        const Tensor v = floats({2, 1, kTokens, kWidth}, {1, 1, 3, 3, 8, 8, 1, 1, 3, 3, 8, 8});
        AttentionMask mask;
        mask.lengths = {3, 2};
        mask.before = {0, 0};
        const Tensor y = attended(form, q, q, v, mask);
        const AttentionValues values = attend(form, q, q, v, mask);
        const std::vector<double> expected{1, 2, 4, 1, 2, 2};
        for (std::size_t row = 0; row < expected.size(); ++row) {
            QCOMPARE(y.at(static_cast<std::int64_t>(row) * kWidth), expected[row]);
            QCOMPARE(values.y.at(static_cast<std::int64_t>(row) * kWidth), expected[row]);
        }
    }
};

QTEST_GUILESS_MAIN(AttentionTest)
#include "attentiontest.moc"
