// SPDX-License-Identifier: Apache-2.0
// Relevance through recurrent operators against the formulas of Arras et al. 2017, written out by hand, and against
// the gradient where that is what a composite asks for.
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/oracle.h"
#include "core/ops/algebra.h"
#include "tests/core/rewrite/graphs.h"

#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::rewrite::testing;
using execute::BoundModel;

namespace
{

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// An LSTM of one input and one hidden unit over some steps, whose last state is the output.
struct Small
{
    // Gates in the order input, output, forget, candidate.
    std::vector<double> w{0.8, -0.4, 0.3, 1.1};
    std::vector<double> r{-0.5, 0.6, 0.9, 0.7};
    std::vector<double> bias{0.1, 0.2, 0.7, -0.3};
    std::vector<double> x{0.9, -0.4, 0.6};
    bool isCoupled = false; // input_forget

    [[nodiscard]] SharedGraph graph() const
    {
        graph::GraphBuilder builder("small", 14);
        const ValueId series = builder.addInput("x", DType::Float64, {3, 1, 1});
        std::vector<double> biases = bias;
        biases.resize(8, 0.0);
        const ValueId weights = builder.addConstant("w", Tensor::of<double>({1, 4, 1}, w));
        const ValueId state = builder.addConstant("r", Tensor::of<double>({1, 4, 1}, r));
        const ValueId both = builder.addConstant("b", Tensor::of<double>({1, 8}, biases));
        const ValueId y = builder.addResult("y");
        builder.addNode({"LSTM",
                         "",
                         "lstm",
                         "",
                         14,
                         {series, weights, state, both},
                         {ValueId(), y},
                         {{"hidden_size", std::int64_t{1}}, {"input_forget", std::int64_t{isCoupled ? 1 : 0}}}});
        builder.addOutput(y);
        return std::make_shared<const Graph>(std::move(builder).build().value());
    }

    /// Relevance of each step when `start` arrives at the last state, and behind them what the zero state before the
    /// first step gets. A share `factor` of the bias and the stabiliser goes in equal parts to input and state.
    [[nodiscard]] std::vector<double> byHand(double start, double factor = 0) const
    {
        struct Step
        {
            double h, c, i, f, g, z;
        };
        std::vector<Step> steps{{0, 0, 0, 0, 0, 1}};
        for (const double in : x) {
            const Step& p = steps.back();
            const auto sum = [&](std::size_t k) { return w[k] * in + r[k] * p.h + bias[k]; };
            Step s{};
            s.i = sigmoid(sum(0));
            s.f = isCoupled ? 1 - s.i : sigmoid(sum(2));
            s.z = sum(3);
            s.g = std::tanh(s.z);
            s.c = s.f * p.c + s.i * s.g;
            s.h = sigmoid(sum(1)) * std::tanh(s.c);
            steps.push_back(s);
        }
        std::vector<double> relevance(x.size() + 1);
        double ofCell = 0;
        double ofState = start;
        for (std::size_t t = x.size(); t-- > 0;) {
            const Step& s = steps[t + 1];
            const Step& p = steps[t];
            ofCell += ofState; // the output gate takes nothing
            const double ofCandidate = ofCell * s.i * s.g / s.c;
            ofCell = ofCell * s.f * p.c / s.c;
            const double e = s.z >= 0 ? 1e-6 : -1e-6;
            const double extra = factor * (bias[3] + e) / 2;
            relevance[t] = ofCandidate * (w[3] * x[t] + extra) / (s.z + e);
            ofState = ofCandidate * (r[3] * p.h + extra) / (s.z + e);
        }
        relevance.back() = ofState;
        return relevance;
    }
};

/// Relevance of each step, and behind them what constants took.
std::vector<double> explained(const Small& small, const char* composite, double start)
{
    const auto model = BoundModel::bind(small.graph(), {{{DType::Float64, {3, 1, 1}}}}, Precision::Double).value();
    const std::vector<Tensor> inputs{Tensor::of<double>({3, 1, 1}, small.x)};
    const auto rules = lrp::assignRules(*lrp::builtinComposite(composite, *model), *model).value();
    const auto forward = execute::forward(model, inputs, execute::SavePolicy::All).value();
    const auto graph = lrp::TraversalGraph::build(*model, model->graph().outputs()[0]).value();
    const std::vector<double> seed{start};
    std::vector<event::LedgerEntry> ledger;
    const auto table =
        lrp::oracle(forward.saved, rules, graph, Tensor::of<double>({1, 1, 1}, seed), {}, &ledger).value();
    double constants = 0;
    for (const event::LedgerEntry& row : ledger) {
        constants += row.causes[static_cast<std::size_t>(event::Cause::Constant)];
    }
    const Tensor& r = table[model->graph().nodeCount()][0];
    return {r.at(0), r.at(1), r.at(2), constants};
}

} // namespace

class RecurrentRulesTest : public QObject
{
    Q_OBJECT

    static void gates()
    {
        QTest::addColumn<bool>("isCoupled");
        QTest::newRow("gates of their own") << false;
        QTest::newRow("coupled gates") << true;
    }

private slots:
    void theSignalTakesAll_data() { gates(); }
    void theSignalTakesAll()
    {
        QFETCH(bool, isCoupled);
        Small small;
        small.isCoupled = isCoupled;
        small.x[1] = isCoupled ? 0.4 : small.x[1]; // far from a cell of zero, where the stabiliser would show
        const std::vector<double> wanted = small.byHand(0.7);
        for (const char* composite : {"epsilon", "attnlrp", "cp_lrp"}) {
            const std::vector<double> found = explained(small, composite, 0.7);
            for (std::size_t t = 0; t < small.x.size(); ++t) {
                QVERIFY2(std::abs(found[t] - wanted[t]) < 1e-4 * std::abs(wanted[t]) + 1e-5, composite);
            }
        }
    }

    // The zero state before the first step is an input of its layer, too, and takes an equal part of its bias: what
    // reached the steps and that part are all that started.
    void withTheBiasFactorNothingIsLost()
    {
        const Small small;
        const std::vector<double> wanted = small.byHand(0.7, 1);
        const std::vector<double> found = explained(small, "epsilon:bias=spread", 0.7);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            QVERIFY(std::abs(found[i] - wanted[i]) < 1e-4 * std::abs(wanted[i]) + 1e-5);
        }
        QVERIFY(std::abs(wanted.back()) > 1e-2);
        for (const std::vector<double>& one : {wanted, found}) {
            QVERIFY(std::abs(one[0] + one[1] + one[2] + one[3] - 0.7) < 1e-4);
        }
        const std::vector<double> without = explained(small, "epsilon", 0.7);
        QVERIFY(std::abs(without[0] + without[1] + without[2] + without[3] - 0.7) > 1e-2);
    }

    void aPartOfTheBiasIsSpread()
    {
        const Small small;
        const std::vector<double> wanted = small.byHand(0.7, 0.25);
        const std::vector<double> found = explained(small, "epsilon:bias=spread,bias_factor=0.25", 0.7);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            QVERIFY(std::abs(found[i] - wanted[i]) < 1e-4 * std::abs(wanted[i]) + 1e-5);
        }
    }

    void gatesTakeWhatTheCompositeSays()
    {
        const Small small;
        const std::vector<double> signal = explained(small, "epsilon", 0.7);
        const std::vector<double> ratio = explained(small, "dynamic", 0.7);
        QVERIFY(std::abs(signal[0] - ratio[0]) > 1e-3); // abs-ratio: gates get their part
    }

    void theGradientIsTheOperatorsOwn_data() { gates(); }
    void theGradientIsTheOperatorsOwn()
    {
        QFETCH(bool, isCoupled);
        Small small;
        small.isCoupled = isCoupled;
        const std::vector<double> found = explained(small, "gradient", 1);
        for (std::size_t t = 0; t < small.x.size(); ++t) {
            const auto at = [&](double step) {
                Small moved = small;
                moved.x[t] += step;
                const auto model = BoundModel::bind(moved.graph(), {{{DType::Float64, {3, 1, 1}}}}, Precision::Double);
                const std::vector<Tensor> inputs{Tensor::of<double>({3, 1, 1}, moved.x)};
                return execute::forward(*model, inputs, execute::SavePolicy::All)->outputs[0].at(0);
            };
            QVERIFY(std::abs((at(1e-5) - at(-1e-5)) / 2e-5 - found[t]) < 1e-8);
        }
    }
};

QTEST_GUILESS_MAIN(RecurrentRulesTest)
#include "recurrentrulestest.moc"
