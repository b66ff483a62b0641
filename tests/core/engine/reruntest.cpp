// SPDX-License-Identifier: Apache-2.0
// Another rule is tried on the same input: only what lies below it is computed again, and the result has the bits of a
// whole pass.
#include "core/engine/explain/explain.h"
#include "core/tensor/npy.h"

#include <QtTest>

#include <cstring>
#include <set>

using namespace retro;

using engine::ExplainRequest;
using engine::ExplainResult;
using tensor::Tensor;

namespace
{

struct Setup
{
    engine::LoadedModelPointer model;
    ExplainRequest request;
};

Setup setupOf(const QString& folder, const char* composite)
{
    const std::string path = RETRO_SOURCE_DIR "/tests/data/golden/lrp/" + folder.toStdString();
    Setup setup{engine::loadModel(path + "/model.onnx").value(), {}};
    setup.request.inputs = {tensor::readNpy(path + "/input.npy").value()};
    setup.request.composite = composite;
    setup.request.record = true;
    setup.request.keepsPass = true;
    return setup;
}

/// The nodes whose rules stand below `node`, with it.
std::set<std::size_t> atOrBelow(const ExplainResult& result, base::NodeId node)
{
    const graph::Graph& graph = result.model->graph();
    std::set<std::size_t> found{node.index()};
    for (std::size_t i = node.index() + 1; i-- > 0;) { // producers stand before their readers
        for (const base::ValueId input :
             found.contains(i) ? graph.node(base::NodeId(i)).inputs : std::vector<base::ValueId>()) {
            const bool passes = input.isValid() && result.model->isTracked(input);
            if (passes && !graph.isInput(graph.nodeOf(input))) {
                found.insert(graph.nodeOf(input).index());
            }
        }
    }
    return found;
}

QString difference(const ExplainResult& a, const ExplainResult& b)
{
    for (std::size_t i = 0; i < a.relevance.size(); ++i) {
        const bool isSame =
            a.relevance[i].isValid() ? a.relevance[i].bitEqual(b.relevance[i]) : !b.relevance[i].isValid();
        if (!isSame) {
            return QStringLiteral("relevance of %1")
                .arg(QString::fromStdString(a.model->graph().value(base::ValueId(i)).name));
        }
    }
    if (a.ledger.size() != b.ledger.size() ||
        std::memcmp(a.ledger.data(), b.ledger.data(), a.ledger.size() * sizeof(event::LedgerEntry)) != 0) {
        return QStringLiteral("the ledger");
    }
    const auto& first = a.run->events;
    const auto& second = b.run->events;
    const bool areEvents = first.size() == second.size() &&
                           std::memcmp(first.data(), second.data(), first.size() * sizeof(event::Event)) == 0;
    return areEvents ? QString() : QStringLiteral("the events");
}

std::string ruleFor(const ExplainResult& result, std::size_t node)
{
    const std::string& structure = result.rules[node].structure;
    return structure == "linear map" ? "epsilon:epsilon=0.3" : "stop";
}

} // namespace

class RerunTest : public QObject
{
    Q_OBJECT

private slots:
    void onlyBelowTheChange_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("composite");
        QTest::newRow("dense") << "mlp"
                               << "epsilon";
        QTest::newRow("convolutions") << "cnn"
                                      << "epsilon_plus_flat";
        QTest::newRow("attention") << "encoder"
                                   << "attnlrp";
    }
    void onlyBelowTheChange()
    {
        QFETCH(QString, folder);
        QFETCH(QString, composite);
        const Setup setup = setupOf(folder, qPrintable(composite));
        engine::Explainer explainer(setup.model);
        RETRO_MADE(first, explainer.explain(setup.request));
        QVERIFY(!first->forwardReused && first->rulesReused == 0 && first->rulesApplied > 2);
        const std::size_t rules = first->rulesApplied;
        std::size_t tried = 0;
        for (std::size_t i = 0; i < first->rules.size(); i += 3) {
            if (first->rules[i].rule.empty()) {
                continue;
            }
            // The run before is the one without the change again.
            RETRO_MADE(before, explainer.explain(setup.request));
            ExplainRequest changed = setup.request;
            const std::string& name = first->model->graph().node(base::NodeId(i)).name;
            changed.composite += " | name:\"" + name + "\"=" + ruleFor(*first, i);
            RETRO_MADE(again, explainer.explain(changed));
            QVERIFY(again->forwardReused);
            changed.keepsPass = false;
            RETRO_MADE(whole, engine::explain(*setup.model, changed));
            QVERIFY2(difference(*again, *whole).isEmpty(), qPrintable(difference(*again, *whole)));
            const std::set<std::size_t> below = atOrBelow(*first, base::NodeId(i));
            QVERIFY2(again->rulesApplied == below.size(), qPrintable(QStringLiteral("%1 of %2 below %3")
                                                                         .arg(again->rulesApplied)
                                                                         .arg(below.size())
                                                                         .arg(QString::fromStdString(name))));
            QCOMPARE(again->rulesApplied + again->rulesReused, rules);
            // What landed above the change is the tensor that landed there before.
            for (std::size_t n = 0; n < first->rules.size(); ++n) {
                for (const base::ValueId output : first->model->graph().node(base::NodeId(n)).outputs) {
                    const Tensor there = output.isValid() ? again->relevance[output.index()] : Tensor();
                    if (there.isValid() && !below.contains(n)) {
                        QVERIFY(there.storage() == before->relevance[output.index()].storage());
                    }
                }
            }
            ++tried;
        }
        QVERIFY(tried > 1);
    }

    // The same question again computes nothing; another input or target computes everything.
    void whatElseIsAsked()
    {
        const Setup setup = setupOf("cnn", "epsilon_plus");
        engine::Explainer explainer(setup.model);
        RETRO_MADE(first, explainer.explain(setup.request));
        const auto same = explainer.explain(setup.request);
        QVERIFY(same.ok() && same->rulesApplied == 0 && same->rulesReused == first->rulesApplied);
        QVERIFY(difference(*first, *same).isEmpty());
        ExplainRequest other = setup.request;
        other.start.kind = engine::StartKind::One;
        const auto started = explainer.explain(other);
        QVERIFY(started.ok() && started->forwardReused && started->rulesReused == 0);
        other.inputs = {Tensor::full(setup.request.inputs[0].dtype(), setup.request.inputs[0].shape(), 0.25)};
        const auto moved = explainer.explain(other);
        QVERIFY(moved.ok() && !moved->forwardReused && moved->rulesReused == 0);
        other.keepsPass = false;
        const auto whole = engine::explain(*setup.model, other);
        QVERIFY(whole.ok() && difference(*moved, *whole).isEmpty());
    }

    // Nothing is kept unless it is asked for.
    void nothingIsKeptUnasked()
    {
        Setup setup = setupOf("cnn", "epsilon_plus");
        setup.request.keepsPass = false;
        engine::Explainer explainer(setup.model);
        for (int i = 0; i < 2; ++i) {
            const auto result = explainer.explain(setup.request);
            QVERIFY(result.ok() && !result->forwardReused && result->rulesReused == 0 && result->rulesApplied == 0);
        }
    }

    // A rule that does not fit is refused by name, before anything runs.
    void aRuleThatDoesNotFitIsRefused()
    {
        Setup setup = setupOf("cnn", "epsilon_plus | op:Relu=gamma");
        engine::Explainer explainer(setup.model);
        RETRO_REFUSED(explainer.explain(setup.request), "the rule \"gamma\" (chosen by \"op Relu\") is not defined");
    }
};

QTEST_GUILESS_MAIN(RerunTest)
#include "reruntest.moc"
