// SPDX-License-Identifier: Apache-2.0
// See generators.h.
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/rules.h"
#include "core/ops/quantise/qonnx.h"
#include "tests/core/ops/gradientcheck/generators.h"

#include <QtTest>

#include <set>

using namespace retro::tests;
namespace lrp = retro::lrp;
namespace ops = retro::ops;
namespace algebra = retro::ops::algebra;

namespace
{

constexpr int kDraws = 24;
constexpr double kTolerance = 1e-6;

std::vector<Generator> allGenerators()
{
    std::vector<Generator> all;
    for (const auto& some : {elementWiseGenerators(), arithmeticGenerators(), reductionGenerators(), shapeGenerators(),
                             indexGenerators(), linearGenerators(), windowGenerators(), normalisationGenerators(),
                             resampleGenerators(), composedGenerators()}) {
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

/// One drawn node: what is differentiated, what arrives at its outputs.
class Checked
{
public:
    Checked(const OpCase& drawn, Draw& draw) : m_case(drawn), m_outputs(m_case.forward())
    {
        for (std::size_t slot = 0; slot < m_case.operands().size(); ++slot) {
            const Tensor& t = m_case.operands()[slot];
            const bool moves = t.isValid() && !m_case.isConstant(slot) && retro::tensor::isFloating(t.dtype());
            m_tracked.push_back(moves ? 1 : 0);
            m_types.push_back({t.dtype(), t.shape()});
            m_directions.push_back(moves ? draw.tensor(t.shape(), -1, 1) : Tensor());
        }
        for (const Tensor& y : m_outputs) {
            m_seeds.push_back(retro::tensor::isFloating(y.dtype()) ? draw.tensor(y.shape(), -1, 1) : Tensor());
        }
    }

    [[nodiscard]] bool hasSlot(std::size_t slot) const { return m_tracked[slot] != 0; }
    [[nodiscard]] std::size_t slotCount() const { return m_tracked.size(); }

    /// ⟨gradient, direction⟩ by the structure's reverse rule, which sees only what it says that it reads; and the sum
    /// of the absolute products, which is the scale of the comparison.
    [[nodiscard]] std::pair<double, double> byRule(std::size_t slot) const
    {
        const ops::Reads reads = lrp::gradientReads(m_case.op(), m_tracked);
        std::vector<Tensor> operands = m_case.operands();
        for (std::size_t i = 0; i < operands.size(); ++i) {
            operands[i] = reads.operand(i) ? operands[i] : Tensor();
        }
        std::vector<Tensor> outputs = m_outputs;
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            outputs[k] = reads.output(k) ? outputs[k] : Tensor();
        }
        const Tensor part = lrp::gradientPart({m_case.op(), operands, outputs, m_seeds, m_tracked, m_types}, slot);
        if (part.shape() != m_directions[slot].shape() || part.dtype() != DType::Float64) {
            return {std::nan(""), 1};
        }
        return {algebra::dot(part, m_directions[slot]),
                algebra::sumAbsolute(algebra::multiply(part, m_directions[slot]))};
    }

    /// The same by a difference of step 2h.
    [[nodiscard]] double byDifference(std::size_t slot, double h) const
    {
        return (valueAt(slot, h) - valueAt(slot, -h)) / (2 * h);
    }

private:
    [[nodiscard]] double valueAt(std::size_t slot, double step) const
    {
        std::vector<Tensor> operands = m_case.operands();
        operands[slot] = algebra::addScaled(operands[slot], m_directions[slot], step);
        const std::vector<Tensor> results = m_case.forward(operands);
        double sum = 0;
        for (std::size_t k = 0; k < results.size(); ++k) {
            sum += m_seeds[k].isValid() ? algebra::dot(results[k], m_seeds[k]) : 0;
        }
        return sum;
    }

    const OpCase& m_case;
    std::vector<Tensor> m_outputs;
    std::vector<std::uint8_t> m_tracked;
    std::vector<ops::TensorType> m_types;
    std::vector<Tensor> m_directions;
    std::vector<Tensor> m_seeds;
};

/// True when a floating operand is constant: its part of the relevance is handed to nobody.
bool hasConstant(const OpCase& drawn)
{
    for (std::size_t slot = 0; slot < drawn.operands().size(); ++slot) {
        const Tensor& t = drawn.operands()[slot];
        if (drawn.isConstant(slot) && t.isValid() && retro::tensor::isFloating(t.dtype())) {
            return true;
        }
    }
    return false;
}

struct Tally
{
    int checked = 0;
    int kinks = 0;
    std::string failure;
};

void compare(const Checked& node, std::size_t slot, Tally& tally)
{
    constexpr double kStep = 2e-4;
    const double coarse = node.byDifference(slot, kStep);
    const double fine = node.byDifference(slot, kStep / 2);
    const auto [gradient, products] = node.byRule(slot);
    const double scale = std::max({products, std::abs(fine), 1e-3});
    if (std::abs(coarse - fine) > 1e-5 * scale) { // a smooth function differs by h² there
        ++tally.kinks;
        return;
    }
    ++tally.checked;
    const double difference = fine + (fine - coarse) / 3;
    if (!(std::abs(difference - gradient) <= kTolerance * scale)) {
        tally.failure = fmt::format("operand {}: the rule gives {}, differences give {}", slot, gradient, difference);
    }
}

Tally check(const Generator& generator)
{
    Tally tally;
    for (int i = 0; i < kDraws && tally.failure.empty(); ++i) {
        Draw draw(static_cast<std::uint32_t>(1000 + i));
        OpCase drawn = generator.make(draw);
        if (!drawn.bind()) {
            tally.failure = fmt::format("draw {} was refused: {}", i, drawn.error());
            break;
        }
        const Checked node(drawn, draw);
        for (std::size_t slot = 0; slot < node.slotCount() && tally.failure.empty(); ++slot) {
            if (node.hasSlot(slot)) {
                compare(node, slot, tally);
            }
        }
        if (!tally.failure.empty()) {
            tally.failure = fmt::format("draw {} ({}): {}", i, drawn.text(), tally.failure);
        }
    }
    return tally;
}

} // namespace

class GradientCheckTest : public QObject
{
    Q_OBJECT
private slots:
    void gradientsAgreeWithDifferences_data()
    {
        QTest::addColumn<int>("number");
        const auto all = allGenerators();
        for (std::size_t i = 0; i < all.size(); ++i) {
            QTest::newRow((all[i].domain + all[i].op + '#' + std::to_string(i)).c_str()) << static_cast<int>(i);
        }
    }

    void gradientsAgreeWithDifferences()
    {
        QFETCH(int, number);
        const Tally tally = check(allGenerators()[static_cast<std::size_t>(number)]);
        QVERIFY2(tally.failure.empty(), tally.failure.c_str());
        QVERIFY2(tally.checked >= tally.kinks && tally.checked > 0,
                 fmt::format("{} of {} draws lie on a kink", tally.kinks, tally.checked + tally.kinks).c_str());
    }

    void stridesDoNotMatter()
    {
        for (const Generator& generator : allGenerators()) {
            for (std::uint32_t seed = 1; seed <= 3; ++seed) {
                Draw draw(seed);
                OpCase drawn = generator.make(draw);
                QVERIFY2(drawn.bind(), drawn.error().c_str());
                std::vector<Tensor> moved = drawn.operands();
                for (Tensor& t : moved) {
                    t = t.isValid() ? inOtherOrder(t) : t;
                }
                const auto plain = drawn.forward();
                const auto other = drawn.forward(moved);
                for (std::size_t k = 0; k < plain.size(); ++k) {
                    QVERIFY2(plain[k].bitEqual(other[k]), drawn.text().c_str());
                }
            }
        }
    }

    /// Where f(c·x) = c^d·f(x), the norm rule hands on exactly what arrived.
    void homogeneousFunctionsConserve()
    {
        const std::set<std::string> homogeneous{"Det",      "Einsum",     "Gemm",           "Max", "Min", "ReduceL1",
                                                "ReduceL2", "ReduceProd", "ReduceSumSquare"};
        const auto norm = lrp::normRule({algebra::StabiliserKind::Add, 0, true});
        int count = 0;
        for (const Generator& generator : allGenerators()) {
            for (std::uint32_t seed = 1; seed <= 12 && homogeneous.contains(generator.op); ++seed) {
                Draw draw(seed);
                OpCase drawn = generator.make(draw);
                QVERIFY2(drawn.bind(), drawn.error().c_str());
                if (drawn.op().structure().kind() != ops::StructureKind::Differentiable || hasConstant(drawn)) {
                    continue;
                }
                std::vector<std::uint8_t> tracked(drawn.operands().size(), 1);
                std::vector<ops::TensorType> types;
                for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
                    const Tensor& t = drawn.operands()[slot];
                    types.push_back({t.dtype(), t.shape()});
                    tracked[slot] = drawn.isConstant(slot) ? 0 : 1;
                }
                const auto z = drawn.forward();
                const std::vector<Tensor> relevance{draw.tensor(z[0].shape(), 0.5, 1)};
                const auto parts = norm->apply({drawn.op(), drawn.operands(), z, relevance, tracked, types});
                double sum = 0;
                double scale = algebra::sum(relevance[0]);
                for (const Tensor& part : parts) {
                    sum += part.isValid() ? algebra::sum(part) : 0;
                    scale += part.isValid() ? algebra::sumAbsolute(part) : 0;
                }
                QVERIFY2(std::abs(sum - algebra::sum(relevance[0])) < 1e-9 * scale, drawn.text().c_str());
                ++count;
            }
        }
        QVERIFY(count > 40);
    }

    void everyDifferentiableOperatorIsDrawn()
    {
        std::set<std::pair<std::string, std::string>> drawn;
        for (const Generator& generator : allGenerators()) {
            drawn.emplace(generator.domain, generator.op);
        }
        for (const ops::OperatorDeclaration& declaration : ops::declarations()) {
            const bool isThere = drawn.contains({std::string(declaration.domain), std::string(declaration.op)});
            const bool isWrittenOut = declaration.structure == "control flow"; // never bound as a node
            // Straight through what rounds, which no difference shows: quantisedlayertest.cpp has them.
            const bool rounds = declaration.op == "FakeQuantize" || declaration.domain == "retrograde.integer" ||
                                std::ranges::count(ops::kQonnxDomains, declaration.domain) > 0;
            // The operator of the standard under another domain.
            const bool isTwin = declaration.domain == "com.microsoft" && declaration.op == "DequantizeLinear";
            // A table of constants and indices: no operand has a difference. quantisedlayertest.cpp has its tokens.
            const bool hasTokensAlone = declaration.op == "GatherBlockQuantized";
            QVERIFY2(!declaration.gradient || isWrittenOut || rounds || isTwin || hasTokensAlone || isThere,
                     fmt::format("{} has no line in tests/core/ops/gradientcheck", declaration.op).c_str());
        }
    }
};

QTEST_GUILESS_MAIN(GradientCheckTest)
#include "gradientchecktest.moc"
