// SPDX-License-Identifier: Apache-2.0
// The same function gives the same map: random layers whose scale and shift by channel are written in every form that
// exporters choose have the relevance of the layer whose weights hold them, under every composite.
#include "core/engine/explain/explain.h"
#include "core/formats/onnx.h"
#include "tests/core/engine/affineforms.h"

#include <QtTest>

using namespace retro;
using namespace retro::tests;
using rewrite::testing::deviation;
using tensor::Tensor;

namespace
{

constexpr double kMost = 1e-10;

struct Kind
{
    const char* name;
    LayerSpec layer;
};

std::vector<Kind> kinds()
{
    return {
        {"Conv", {.op = "Conv", .read = 3, .made = 4, .kernel = 3}},
        {"Conv padded", {.op = "Conv", .read = 3, .made = 4, .kernel = 3, .pad = 1}},
        {"Conv groups", {.op = "Conv", .read = 4, .made = 6, .groups = 2, .kernel = 3}},
        {"Conv depthwise", {.op = "Conv", .read = 4, .made = 4, .groups = 4, .kernel = 3, .pad = 1}},
        {"ConvTranspose", {.op = "ConvTranspose", .read = 3, .made = 4, .kernel = 2}},
        {"ConvTranspose groups", {.op = "ConvTranspose", .read = 4, .made = 6, .groups = 2, .kernel = 2}},
        {"ConvTranspose point", {.op = "ConvTranspose", .read = 3, .made = 4, .kernel = 1}},
        {"Gemm", {.op = "Gemm", .read = 5, .made = 4}},
        {"Gemm transposed", {.op = "Gemm", .read = 5, .made = 4, .isTurned = true}},
        {"MatMul", {.op = "MatMul", .read = 5, .made = 4}},
        {"MatMul by the left", {.op = "MatMul", .read = 5, .made = 4, .isTurned = true}},
    };
}

/// Results and the relevance of the input.
struct Explained
{
    Tensor output;
    Tensor relevance;
    std::string error;
};

class SameFunctionModel
{
public:
    SameFunctionModel(const rewrite::testing::SharedGraph& graph, const Tensor& input,
                      const rewrite::RewriteOptions& options = {})
        : m_input(input)
    {
        const auto bytes = formats::toOnnx(*graph);
        auto model = bytes.ok() ? engine::parseModel(*bytes, "form.onnx", {}, options)
                                : base::Result<engine::LoadedModelPointer>(bytes.error());
        if (model.ok()) {
            m_model = *model;
        } else {
            m_error = model.error().text();
        }
    }

    [[nodiscard]] Explained explained(const std::string& composite) const
    {
        if (!m_model) {
            return {{}, {}, m_error};
        }
        engine::ExplainRequest request;
        request.inputs = {m_input};
        request.target = engine::parseTarget("1").value();
        request.composite = composite;
        request.precision = execute::Precision::Double;
        const auto result = engine::explain(*m_model, request);
        if (!result.ok()) {
            return {{}, {}, result.error().text()};
        }
        const graph::Graph& graph = result->model->graph();
        return {result->outputs[0], result->relevance[graph.inputs()[0].index()], {}};
    }

    /// "conv, relu, head": nodes that are left.
    [[nodiscard]] std::string nodes() const
    {
        return m_model ? rewrite::testing::nodeNames(*m_model->graph()) : m_error;
    }

private:
    engine::LoadedModelPointer m_model;
    Tensor m_input;
    std::string m_error;
};

int seedCount()
{
    const int asked = qEnvironmentVariableIntValue("RETRO_SEEDS");
    return asked > 0 ? asked : 2;
}

} // namespace

class SameFunctionTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFormHasTheMapOfTheMergedLayer_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<bool>("isBefore");
        for (std::size_t k = 0; k < kinds().size(); ++k) {
            QTest::addRow("behind %s", kinds()[k].name) << static_cast<int>(k) << false;
            QTest::addRow("before %s", kinds()[k].name) << static_cast<int>(k) << true;
        }
    }
    void everyFormHasTheMapOfTheMergedLayer()
    {
        QFETCH(int, kind);
        QFETCH(bool, isBefore);
        const LayerSpec layer = kinds()[static_cast<std::size_t>(kind)].layer;
        for (int seed = 0; seed < seedCount(); ++seed) {
            const FormCase wanted(layer, isBefore, static_cast<unsigned>(100 * kind + seed));
            // What no bias can express has no merged layer: there BatchNormalization is what others are compared with.
            const bool isMerged = wanted.canMerge();
            const SameFunctionModel reference(isMerged ? wanted.merged() : wanted.written(FormCase::kBatchNorm),
                                              wanted.input());
            std::vector<Explained> right;
            for (const std::string& composite : lrp::builtinNames()) {
                right.push_back(reference.explained(composite));
                QVERIFY2(right.back().error.empty(), right.back().error.c_str());
            }
            std::size_t forms = 0;
            for (std::size_t form = 0; form < FormCase::kForms.size(); ++form) {
                if (const rewrite::testing::SharedGraph graph = wanted.written(form)) { // else no form of this layer
                    compare(SameFunctionModel(graph, wanted.input()), FormCase::kForms[form], right);
                    ++forms;
                }
            }
            QVERIFY(forms >= 14);
        }
    }

    // Without the rewrites the forms are what their nodes are, and their maps differ.
    void theMergesAreWhatDoesIt()
    {
        const FormCase wanted(kinds().front().layer, false, 1);
        rewrite::RewriteOptions options;
        options.mergeBatchNorm = options.mergeBatchNormRight = false;
        const Explained right = SameFunctionModel(wanted.merged(), wanted.input()).explained("epsilon_plus");
        const Explained found = SameFunctionModel(wanted.written(3), wanted.input(), options).explained("epsilon_plus");
        QVERIFY(right.error.empty() && found.error.empty());
        QVERIFY(deviation(found.output, right.output) < kMost);
        QVERIFY(deviation(found.relevance, right.relevance) > 1e-3);
    }

private:
    static void compare(const SameFunctionModel& model, const char* form, const std::vector<Explained>& right)
    {
        for (std::size_t i = 0; i < right.size(); ++i) {
            const Explained found = model.explained(lrp::builtinNames()[i]);
            const std::string place = lrp::builtinNames()[i] + ", " + form + ", nodes " + model.nodes() + ": ";
            QVERIFY2(found.error.empty(), (place + found.error).c_str());
            const double apart = deviation(found.output, right[i].output);
            QVERIFY2(apart < kMost, (place + "results differ by " + std::to_string(apart)).c_str());
            const double maps = deviation(found.relevance, right[i].relevance);
            QVERIFY2(maps < kMost, (place + "maps differ by " + std::to_string(maps)).c_str());
        }
    }
};

QTEST_GUILESS_MAIN(SameFunctionTest)
#include "samefunctiontest.moc"
