// SPDX-License-Identifier: Apache-2.0
// Regions over random graphs and all samples: the way forwards is the transpose of the relevance pass, Σ R·w is one
// number at every cut, classes and complements follow, conditional relevance is what its definition says, and rules
// that look at the relevance are refused by name.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/model/binding.h"
#include "core/engine/region/conditions.h"
#include "core/execute/control/unroll.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/regionpass.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/randomgraph.h"
#include "tests/core/engine/samplequestion.h"

#include <cmath>
#include <map>
#include <random>
#include <ranges>

using namespace retro;
using tensor::Tensor;
namespace algebra = ops::algebra;

namespace
{

Tensor drawn(const tensor::Shape& shape, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (double& value : values) {
        value = static_cast<double>(random()) / 4294967296.0 * 2 - 1;
    }
    return Tensor::of<double>(shape, values);
}

/// A model in double with all forward values, its rules and the graph from one value.
struct Subject
{
    std::shared_ptr<const execute::BoundModel> model;
    lrp::RuleAssignment rules;
    std::optional<lrp::TraversalGraph> graph;
    std::optional<execute::ForwardResult> forward;
    base::ValueId target;

    [[nodiscard]] lrp::NodeValues values(base::NodeId node) const
    {
        lrp::NodeValues all;
        for (const base::ValueId operand : model->graph().node(node).inputs) {
            all.operands.push_back(operand.isValid() ? forward->saved.anyValue(operand) : Tensor());
        }
        for (const base::ValueId output : model->graph().outputsOf(node)) {
            all.outputs.push_back(output.isValid() ? forward->saved.anyValue(output) : Tensor());
        }
        return all;
    }

    [[nodiscard]] base::Result<std::vector<Tensor>> weights(std::span<const Tensor> masks) const
    {
        return lrp::regionWeights({*model,
                                   rules,
                                   *graph,
                                   [this](base::NodeId node, const ops::Reads&) { return values(node); },
                                   masks,
                                   {},
                                   {},
                                   {},
                                   {}});
    }

    [[nodiscard]] std::vector<Tensor> drawnMasks(unsigned seed) const
    {
        std::vector<Tensor> masks;
        for (const base::ValueId input : model->graph().inputs()) {
            masks.push_back(model->isTracked(input) ? drawn(model->typeOf(input).shape, seed++) : Tensor());
        }
        return masks;
    }
};

base::Result<Subject> subjectOf(const std::shared_ptr<const graph::Graph>& graph, std::vector<Tensor> inputs,
                                const std::string& composite)
{
    Subject subject;
    inputs = execute::inRun(*graph, inputs, execute::Precision::Double);
    std::vector<ops::TensorType> types;
    for (const Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    RETRO_TRY(subject.model, execute::BoundModel::bind(graph, types, execute::Precision::Double, inputs));
    RETRO_TRY(const lrp::Composite chosen, lrp::builtinComposite(composite, *subject.model));
    RETRO_TRY(subject.rules, lrp::assignRules(chosen, *subject.model));
    RETRO_TRY(subject.target, engine::targetValue(engine::TargetRequest{}, *subject.model));
    RETRO_TRY(subject.graph, lrp::TraversalGraph::build(*subject.model, subject.target));
    RETRO_TRY(execute::ForwardResult forward, execute::forward(subject.model, inputs, execute::SavePolicy::All));
    subject.forward.emplace(std::move(forward));
    return subject;
}

/// Before each node of the plain loop: Σ over waiting parts ⟨part, w⟩, which must be one number; `whole` takes it.
QString cutFault(const Subject& subject, const std::vector<Tensor>& weights, const Tensor& start, double& whole)
{
    const lrp::TraversalGraph& graph = *subject.graph;
    const graph::Graph& all = subject.model->graph();
    std::map<std::pair<std::uint32_t, std::size_t>, Tensor> waiting; // by node, in-edge
    const lrp::Root& root = graph.roots().front();
    waiting[{root.node.value, root.inEdge}] = start;
    const auto total = [&](double& magnitude) {
        double sum = 0;
        magnitude = 0;
        for (const auto& [place, part] : waiting) {
            const base::NodeId node(place.first);
            const lrp::InEdge& edge = graph.inEdges(node)[place.second];
            const Tensor& w = weights[all.outputsOf(node)[edge.output].index()];
            if (w.isValid() && part.isValid()) {
                const Tensor product = algebra::multiply(part, w);
                sum += algebra::sum(product);
                magnitude += algebra::sumAbsolute(product);
            }
        }
        return sum;
    };
    double magnitude = 0;
    whole = total(magnitude);
    double largest = magnitude;
    for (const base::NodeId node : std::views::reverse(graph.postOrder())) {
        const double now = total(magnitude);
        largest = std::max(largest, magnitude);
        if (!(std::abs(now - whole) <= 1e-10 * largest)) {
            return QString("before %1: %2 and not %3")
                .arg(QString::fromStdString(all.labelOf(node)))
                .arg(now, 0, 'g', 17)
                .arg(whole, 0, 'g', 17);
        }
        if (graph.children(node).empty()) {
            continue;
        }
        std::vector<Tensor> arrived(graph.outputCount(node));
        for (std::size_t edge = 0; edge < graph.inEdges(node).size(); ++edge) {
            const auto part = waiting.find({node.value, edge});
            if (part != waiting.end()) {
                Tensor& sum = arrived[graph.inEdges(node)[edge].output];
                sum = sum.isValid() ? algebra::add(sum, part->second) : part->second;
                waiting.erase(part);
            }
        }
        const std::vector<Tensor> shares =
            lrp::applyRule(*subject.model, node, subject.rules[node.index()].rule, lrp::trackedSlots(graph, node),
                           arrived, subject.values(node), nullptr);
        const auto children = graph.children(node);
        for (std::size_t slot = 0; slot < children.size(); ++slot) {
            if (children[slot].child.isValid()) {
                waiting[{children[slot].child.value, children[slot].inEdge}] = shares[slot];
            }
        }
    }
    return {};
}

/// Σ masks·R of the inputs, of the plain loop.
double atInputs(const Subject& subject, const std::vector<Tensor>& masks, const Tensor& start)
{
    const auto table = lrp::oracle(subject.forward->saved, subject.rules, *subject.graph, start);
    double sum = 0;
    const auto ids = subject.model->graph().inputs();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto& arrived = (*table)[subject.model->graph().nodeOf(ids[i]).index()];
        sum += masks[i].isValid() && !arrived.empty() && arrived[0].isValid() ? algebra::dot(masks[i], arrived[0]) : 0;
    }
    return sum;
}

/// Adjoint and cuts of a subject for a start and masks drawn by chance; empty when they hold.
QString fault(const Subject& subject, unsigned seed)
{
    const std::vector<Tensor> masks = subject.drawnMasks(seed);
    const auto weights = subject.weights(masks);
    if (!weights) {
        return QString::fromStdString(weights.error().text());
    }
    const Tensor start = drawn(subject.model->typeOf(subject.target).shape, seed + 100);
    double whole = 0;
    if (const QString cut = cutFault(subject, *weights, start, whole); !cut.isEmpty()) {
        return cut;
    }
    const double below = atInputs(subject, masks, start);
    const Tensor& w = (*weights)[subject.target.index()];
    const double scale = w.isValid() ? algebra::sumAbsolute(algebra::multiply(w, start)) : 0;
    return std::abs(below - whole) <= 1e-10 * std::max(scale, std::abs(below))
               ? QString()
               : QString("%1 at the inputs, %2 at the start").arg(below, 0, 'g', 17).arg(whole, 0, 'g', 17);
}

const std::vector<const char*>& sampleNames()
{
    static const std::vector<const char*> kNames{
        "clever-hans/clever-hans",         "clever-hans/control",       "marked-step/marked-step",
        "one-segment/one-segment",         "planted-word/planted-word", "planted-word/control",
        "silent-groups/silent-groups",     "silent-groups/one-group",   "lut-digits/lut-digits",
        "lut-marked-byte/lut-marked-byte", "lut-skips/lut-skips"};
    return kNames;
}

} // namespace

class RegionTest : public QObject
{
    Q_OBJECT

private slots:
    void randomGraphs_data()
    {
        QTest::addColumn<QString>("composite");
        for (const char* composite : {"epsilon", "epsilon:epsilon=0.01,bias=spread", "gradient", "dynamic"}) {
            QTest::newRow(composite) << composite;
        }
    }

    void randomGraphs()
    {
        QFETCH(const QString, composite);
        int held = 0;
        for (unsigned seed = 0; seed < 200; ++seed) {
            const auto graph = tests::RandomGraph(seed).make();
            if (execute::hasControlFlow(*graph)) {
                continue; // which nodes run depends on the data
            }
            const std::vector<Tensor> inputs{drawn({2, 3, 4}, seed), drawn({2, 3, 4}, seed + 1)};
            RETRO_MADE(subject, subjectOf(graph, inputs, composite.toStdString()));
            if (!lrp::checkWeighable(*subject->model, subject->rules, *subject->graph)) {
                continue; // refused by name: refusesByName() looks at that
            }
            const QString why = fault(*subject, seed);
            QVERIFY2(why.isEmpty(), qPrintable(QString("seed %1: %2").arg(seed).arg(why)));
            ++held;
        }
        QVERIFY2(held >= (composite == "gradient" ? 4 : 30),
                 qPrintable(QString("only %1 graphs have a way forwards").arg(held)));
    }

    void samples_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("composite");
        for (const char* name : sampleNames()) {
            for (const char* composite : {"auto", "epsilon"}) {
                QTest::addRow("%s %s", name, composite) << name << composite;
            }
        }
    }

    void samples()
    {
        QFETCH(const QString, name);
        QFETCH(const QString, composite);
        const auto question = tests::questionOf<engine::ExplainRequest>(qPrintable(name));
        QVERIFY(question.model);
        std::vector<Tensor> inputs = question.request.inputs;
        if (inputs.empty()) { // tokens are not drawn
            const auto file = question.model->path.parent_path() / question.model->card->pictures.front().file;
            RETRO_MADE(read, engine::resolveInputs({file.string()}, *question.model->graph(), {}));
            inputs = *read;
        }
        RETRO_MADE(subject, subjectOf(question.model->graph(), inputs, composite.toStdString()));
        const auto can = lrp::checkWeighable(*subject->model, subject->rules, *subject->graph);
        if (name.startsWith("lut")) {
            RETRO_REFUSED(can, "shares out by the relevance itself");
            return;
        }
        RETRO_OK(can);
        const QString why = fault(*subject, 5);
        QVERIFY2(why.isEmpty(), qPrintable(why));
    }

    void complementsAndZeros()
    {
        const auto question = tests::questionOf<engine::ExplainRequest>("clever-hans/clever-hans");
        QVERIFY(question.model);
        RETRO_MADE(subject, subjectOf(question.model->graph(), question.request.inputs, "auto"));
        const std::vector<Tensor> masks = subject->drawnMasks(3);
        std::vector<Tensor> ones;
        std::vector<Tensor> rest;
        for (const Tensor& mask : masks) {
            ones.push_back(mask.isValid() ? algebra::filledLike(mask, 1) : mask);
            rest.push_back(mask.isValid() ? algebra::subtract(ones.back(), mask) : mask);
        }
        const auto whole = subject->weights(ones);
        const auto part = subject->weights(masks);
        const auto other = subject->weights(rest);
        QVERIFY(whole.ok() && part.ok() && other.ok());
        for (std::size_t i = 0; i < whole->size(); ++i) {
            if ((*whole)[i].isValid() && (*part)[i].isValid()) {
                const Tensor sum = algebra::add((*part)[i], (*other)[i]);
                QVERIFY(algebra::sumAbsolute(algebra::subtract(sum, (*whole)[i])) <=
                        1e-10 * std::max(1.0, algebra::sumAbsolute((*part)[i]) + algebra::sumAbsolute((*whole)[i])));
            }
        }
        RETRO_MADE(nothing, subject->weights(std::vector<Tensor>(masks.size())));
        for (const Tensor& w : *nothing) {
            QVERIFY(!w.isValid());
        }
    }

    /// Σ m·R_input of `only` is Σ over the kept elements of R·w; all channels together are what passes the value.
    void conditionMeetsRegion_data()
    {
        QTest::addColumn<QString>("composite");
        QTest::newRow("epsilon") << "epsilon";
        QTest::newRow("auto") << "auto";
    }

    void conditionMeetsRegion()
    {
        QFETCH(const QString, composite);
        auto question = tests::questionOf<engine::ExplainRequest>("silent-groups/silent-groups");
        QVERIFY(question.model);
        engine::ExplainRequest request = question.request;
        request.precision = execute::Precision::Double;
        request.composite = composite.toStdString();
        const base::ValueId input = question.model->graph()->inputs()[0];
        RETRO_MADE(plain, engine::explain(*question.model, request));
        request.region.given = {drawn(plain->relevance[input.index()].shape(), 9)};
        RETRO_MADE(whole, engine::explain(*question.model, request));
        const auto shares = engine::regionShares(*whole->region, whole->relevance, whole->model->graph());
        // The widest convolution result inside.
        const engine::RegionShare* chosen = nullptr;
        for (const engine::RegionShare& share : shares) {
            const base::NodeId node = whole->model->graph().nodeOf(share.value);
            if (!whole->model->graph().isInput(node) && share.axis == std::size_t{1} &&
                whole->model->graph().node(node).op == "Relu" &&
                (chosen == nullptr || share.perChannel.size() > chosen->perChannel.size())) {
                chosen = &share;
            }
        }
        QVERIFY(chosen != nullptr);
        const std::string& name = whole->model->graph().value(chosen->value).name;
        const double scale = algebra::sumAbsolute(whole->relevance[chosen->value.index()]);
        Tensor sum;
        for (std::size_t channel = 0; channel < chosen->perChannel.size(); ++channel) {
            request.conditions = {name + ":axis=1:" + std::to_string(channel)};
            RETRO_MADE(only, engine::explain(*question.model, request));
            QVERIFY(std::abs(only->region->total - chosen->perChannel[channel]) <= 1e-10 * scale);
            const Tensor& map = only->relevance[input.index()];
            sum = sum.isValid() ? algebra::add(sum, map) : map;
        }
        request.conditions = {name + ":axis=1:0-" + std::to_string(chosen->perChannel.size() - 1)};
        RETRO_MADE(all, engine::explain(*question.model, request));
        QVERIFY(algebra::sumAbsolute(algebra::subtract(sum, all->relevance[input.index()])) <= 1e-10 * scale);
    }

    /// `beside` is the plain pass with the relevance at the value masked: what is left out is its difference from it.
    void besideIsByTheDefinition()
    {
        auto question = tests::questionOf<engine::ExplainRequest>("clever-hans/clever-hans");
        QVERIFY(question.model);
        engine::ExplainRequest request = question.request;
        request.precision = execute::Precision::Double;
        request.composite = "epsilon";
        RETRO_MADE(plain, engine::explain(*question.model, request));
        const graph::Graph& graph = plain->model->graph();
        base::ValueId value;
        for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
            const base::ValueId output = graph.nodes()[i].outputs[0];
            if (graph.nodes()[i].op == "Conv" && plain->relevance[output.index()].isValid()) {
                value = output;
            }
        }
        QVERIFY(value.isValid());
        const std::string& name = graph.value(value).name;
        const auto channels = plain->model->typeOf(value).shape[1];
        request.conditionForm = engine::ConditionForm::Beside;
        request.conditions = {name + ":axis=1:0-2"};
        RETRO_MADE(beside, engine::explain(*question.model, request));
        request.conditionForm = engine::ConditionForm::Only;
        request.conditions = {name + ":axis=1:3-" + std::to_string(channels - 1)};
        RETRO_MADE(others, engine::explain(*question.model, request));
        const base::ValueId input = graph.inputs()[0];
        const Tensor together = algebra::add(beside->relevance[input.index()], others->relevance[input.index()]);
        const Tensor& whole = plain->relevance[input.index()];
        QVERIFY(algebra::sumAbsolute(algebra::subtract(together, whole)) <= 1e-10 * algebra::sumAbsolute(whole));
        RETRO_MADE(oracle, [&] {
            engine::ExplainRequest same = request;
            same.engine = engine::EngineKind::Oracle;
            return engine::explain(*question.model, same);
        }());
        QVERIFY(oracle->relevance[input.index()].bitEqual(others->relevance[input.index()]));
    }

    void refusesByName()
    {
        auto question = tests::questionOf<engine::ExplainRequest>("clever-hans/clever-hans");
        QVERIFY(question.model);
        engine::ExplainRequest request = question.request;
        request.composite = "deconvnet";
        RETRO_MADE(plain, engine::explain(*question.model, request));
        request.region.box = "0:8,0:8";
        RETRO_REFUSED(engine::explain(*question.model, request), "shares out by the relevance itself");
        request.composite = "epsilon";
        request.region.box = "0:8,0:4000";
        QVERIFY(!engine::explain(*question.model, request).ok());
        request.region.box = {};
        request.region.tokens = "1"; // a channel is no token
        QVERIFY(!engine::explain(*question.model, request).ok());
        request.region.tokens = {};
        const tensor::Shape shape = request.inputs[0].shape();
        request.region.given = {Tensor::full(tensor::DType::Float64, shape, 1e38)};
        RETRO_REFUSED(engine::explain(*question.model, request), "too large");
        request.region = {};
        request.conditions = {"no such value:axis=1:0"};
        QVERIFY(!engine::explain(*question.model, request).ok());
    }
};

QTEST_GUILESS_MAIN(RegionTest)
#include "regiontest.moc"
