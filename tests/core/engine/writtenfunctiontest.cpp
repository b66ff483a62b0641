// SPDX-License-Identifier: Apache-2.0
// The same function gives the same map, whatever operators a converter wrote it with.
#include "core/engine/explain/explain.h"
#include "tests/core/rewrite/writtenforms.h"

#include <QtTest>

using namespace retro;
using namespace retro::rewrite::testing;

namespace
{

constexpr std::array kComposites{"epsilon", "attnlrp", "cp_lrp"};

/// Relevance of the first input for element `target` of the first output; invalid where there is none.
Tensor relevanceOf(const SharedGraph& graph, const Tensor& input, const char* composite)
{
    auto rewritten = rewrite::rewrite(graph, {});
    if (!rewritten.ok()) {
        qWarning("%s", rewritten.error().text().c_str());
        return {};
    }
    engine::LoadedModel model;
    model.path = "written.json";
    model.rewritten = std::move(rewritten).value();
    model.read = graph;
    engine::ExplainRequest request;
    request.inputs = {input};
    request.target = engine::parseTarget("1").value();
    request.composite = composite;
    request.precision = execute::Precision::Double;
    const auto result = engine::explain(model, request);
    if (!result.ok()) {
        qWarning("%s", result.error().text().c_str());
    }
    return result.ok() ? result->relevance[result->model->graph().inputs()[0].index()] : Tensor();
}

using Weights = std::vector<Tensor>;

/// Weights and biases of input and state, for `gates` gates.
Weights recurrentWeights(std::int64_t gates)
{
    return {randomTensor({gates * kRow, kRow}, 21), randomTensor({gates * kRow, kRow}, 22),
            randomTensor({gates * kRow}, 23), randomTensor({gates * kRow}, 24)};
}

constexpr std::int64_t kSteps = 3;

/// The state behind three steps by the operator.
SharedGraph recurrentOperator(const char* op, const Weights& w, Attributes attributes)
{
    Writer writer;
    const Term x{&writer, writer.input("x", {kSteps, 1, kRow})};
    const auto joined = [&](const Tensor& a, const Tensor& b) {
        std::vector<float> both(a.span<float>().begin(), a.span<float>().end());
        both.insert(both.end(), b.span<float>().begin(), b.span<float>().end());
        return Tensor::of<float>({1, static_cast<std::int64_t>(both.size())}, both);
    };
    const auto wide = [](const Tensor& a) { return a.reshaped({1, a.shape()[0], a.shape()[1]}); };
    attributes["hidden_size"] = kRow;
    const Term all = call(op, {x, of(x, wide(w[0])), of(x, wide(w[1])), of(x, joined(w[2], w[3]))}, attributes);
    const Term last = call("Gather", {all, of(x, Tensor::scalar(std::int64_t{kSteps - 1}))});
    writer.output(call("Reshape", {last, whole(x, {1, kRow})}).id);
    return writer.finish();
}

Term linear(const Term& x, const Tensor& weights, const Tensor& bias)
{
    return call("Gemm", {x, of(x, weights), of(x, bias)}, {{"transB", std::int64_t{1}}});
}

std::vector<Term> rowsOf(const Term& x, std::int64_t count)
{
    std::vector<Term> parts;
    for (std::int64_t i = 0; i < count; ++i) {
        parts.push_back(call("Slice", {x, whole(x, {i * kRow}), whole(x, {(i + 1) * kRow}), whole(x, {1})}));
    }
    return parts;
}

using Step = std::function<void(const Term& x, Term& state, Term& cell)>;

/// The same, step by step.
SharedGraph recurrentSteps(const Step& step)
{
    Writer writer;
    const Term x{&writer, writer.input("x", {kSteps, 1, kRow})};
    Term state = of(x, Tensor::zeros(DType::Float32, {1, kRow}));
    Term cell = state;
    for (std::int64_t t = 0; t < kSteps; ++t) {
        step(call("Gather", {x, of(x, Tensor::scalar(t))}), state, cell);
    }
    writer.output(state.id);
    return writer.finish();
}

void lstmStep(const Weights& w, const Term& x, Term& state, Term& cell)
{
    const std::vector<Term> s = rowsOf(linear(x, w[0], w[2]) + linear(state, w[1], w[3]), 4); // input, output, forget
    cell = logistic(s[2]) * cell + logistic(s[0]) * tanhOf(s[3]);
    state = logistic(s[1]) * tanhOf(cell);
}

/// `isDifference`: z·(h − n) + n, else (1 − z)·n + z·h.
void gruStep(const Weights& w, bool isDifference, const Term& x, Term& state)
{
    const std::vector<Term> a = rowsOf(linear(x, w[0], w[2]), 3); // update, reset, candidate
    const std::vector<Term> b = rowsOf(linear(state, w[1], w[3]), 3);
    const Term z = logistic(a[0] + b[0]);
    const Term n = tanhOf(a[2] + logistic(a[1] + b[1]) * b[2]);
    state = isDifference ? (state - n) * z + n : (1.0 - z) * n + z * state;
}

} // namespace

class WrittenFunctionTest : public QObject
{
    Q_OBJECT

    static void compare(const SharedGraph& written, const SharedGraph& wanted, const Tensor& input)
    {
        for (const char* composite : kComposites) {
            const Tensor right = relevanceOf(wanted, input, composite);
            const Tensor own = relevanceOf(written, input, composite);
            QVERIFY2(right.isValid() && own.isValid(), composite);
            const double gap = deviation(own, right);
            QVERIFY2(gap < 1e-4, qPrintable(QString("%1: %2").arg(composite).arg(gap)));
        }
    }

private slots:
    void everyFormHasTheMapOfTheOperator_data()
    {
        QTest::addColumn<int>("function");
        const auto functions = writtenFunctions();
        for (std::size_t i = 0; i < functions.size(); ++i) {
            QTest::newRow(functions[i].name) << static_cast<int>(i);
        }
    }
    void everyFormHasTheMapOfTheOperator()
    {
        QFETCH(int, function);
        const WrittenFunction written = writtenFunctions()[static_cast<std::size_t>(function)];
        const Tensor input = randomTensor({2, 3, kRow}, 5, -2, 2);
        for (std::size_t form = 1; form < written.forms.size(); ++form) {
            compare(graphOf(written.forms[form]), graphOf(written.forms[0]), input);
        }
    }

    void stepsOfACellHaveTheMapOfTheOperator()
    {
        const Tensor input = randomTensor({kSteps, 1, kRow}, 6);
        const Weights four = recurrentWeights(4);
        compare(recurrentSteps([&](const Term& x, Term& h, Term& c) { lstmStep(four, x, h, c); }),
                recurrentOperator("LSTM", four, {}), input);
        const Weights three = recurrentWeights(3);
        for (const bool isDifference : {false, true}) {
            compare(recurrentSteps([&](const Term& x, Term& h, Term&) { gruStep(three, isDifference, x, h); }),
                    recurrentOperator("GRU", three, {{"linear_before_reset", std::int64_t{1}}}), input);
        }
    }
};

QTEST_APPLESS_MAIN(WrittenFunctionTest)
#include "writtenfunctiontest.moc"
