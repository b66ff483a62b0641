// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/arithmetic/tensorarithmetic.h"

#include "core/base/memoryaccount.h"
#include "core/execute/forward.h"
#include "core/lrp/traversal/knownsums.h"
#include "core/lrp/traversal/partsum.h"
#include "core/lrp/traversal/view.h"
#include "tests/core/lrp/eventlog.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/tensorrun.h"

#include <QTest>

#include <cmath>
#include <memory>
#include <set>
#include <stop_token>

using namespace retro::lrptest;
using retro::base::HandleId;
using retro::event::PromiseKind;
using retro::lrp::Role;

namespace
{

SpecNode source(std::string id, std::string op, retro::tensor::Shape shape)
{
    SpecNode made;
    made.id = std::move(id);
    made.op = std::move(op);
    made.shape = std::move(shape);
    made.values.assign(static_cast<std::size_t>(retro::tensor::elementCount(made.shape)), 1.5);
    return made;
}

SpecNode node(std::string op, std::vector<SpecOperand> operands, std::string variant = {})
{
    SpecNode made;
    made.id = op;
    made.op = std::move(op);
    made.operands = std::move(operands);
    made.variant = std::move(variant);
    return made;
}

SpecNode withId(std::string id, SpecNode made)
{
    made.id = std::move(id);
    return made;
}

// Every tensor that a traversal holds, each once.
std::set<HandleId> heldHandles(const retro::lrp::TraversalView& view)
{
    std::set<HandleId> held;
    for (const auto& each : view.nodes) {
        held.insert(each.relevance.begin(), each.relevance.end());
        for (const auto& slot : each.landed) {
            held.insert(slot.tensor);
        }
    }
    for (const auto& promise : view.promises) {
        for (const auto& branch : promise.branches) {
            held.insert(branch.argument);
            held.insert(branch.relevance);
        }
    }
    held.erase(HandleId());
    return held;
}

constexpr std::size_t kX = 0;
constexpr std::size_t kZ = 1;
constexpr std::size_t kConstant = 2;

// One operation over leaves x and z and constant k, all 2 × 2, and the arithmetic of a run that saves what gradients
// read.
class OneOperation
{
public:
    explicit OneOperation(const SpecNode& operation)
        : m_spec({source("x", "leaf", {2, 2}), source("z", "leaf", {2, 2}), source("k", "const", {2, 2}), operation}),
          m_case(tensorCaseOf(m_spec, {}).value()),
          m_forward(retro::execute::forward(m_case.model, m_case.inputs, retro::execute::SavePolicy::Autograd).value()),
          m_arithmetic(m_forward.saved, m_case.rules, m_case.graph, m_log, true)
    {}

    [[nodiscard]] NodeId id() const { return m_case.graph.root(); }
    [[nodiscard]] retro::lrp::TensorArithmetic& arithmetic() { return m_arithmetic; }
    [[nodiscard]] const TensorCase& tensorCase() const { return m_case; }
    [[nodiscard]] const EventLog& log() const { return m_log; }

private:
    SpecGraph m_spec;
    TensorCase m_case;
    retro::execute::ForwardResult m_forward;
    EventLog m_log;
    retro::lrp::TensorArithmetic m_arithmetic;
};

// What a node of a graph does in a traversal.
struct Expected
{
    const char* name;
    SpecNode operation;
    Role role;
    bool isStrict;
    PromiseKind kind;
};

std::vector<Expected> expectations()
{
    const std::vector<SpecOperand> one{{kX, 0}};
    const std::vector<SpecOperand> both{{kX, 0}, {kZ, 0}};
    const std::vector<SpecOperand> withConstant{{kX, 0}, {kConstant, 0}};
    return {
        {"add", node("add", both), Role::Raise, true, PromiseKind::Add},
        {"add constant", node("add", withConstant), Role::PassThrough, false, PromiseKind::Add},
        {"sub", node("sub", both), Role::Raise, true, PromiseKind::Sub},
        {"mul", node("mul", both), Role::Arg, false, PromiseKind::Operator},
        {"mul constant", node("mul", withConstant), Role::PassThrough, false, PromiseKind::Operator},
        {"mm", node("mm", both), Role::Arg, false, PromiseKind::Operator},
        {"mm constant", node("mm", withConstant), Role::Arg, false, PromiseKind::Operator},
        {"t", node("t", one), Role::PassThrough, false, PromiseKind::Operator},
        {"neg", node("neg", one), Role::PassThrough, false, PromiseKind::Operator},
        {"relu", node("relu", one), Role::Arg, false, PromiseKind::Operator},
        {"clone", node("clone", one), Role::PassThrough, false, PromiseKind::Operator},
        {"ckpt", node("ckpt", one), Role::Arg, false, PromiseKind::Operator},
        {"sum", node("sum", one), Role::Raise, true, PromiseKind::Sum},
        {"mean", node("mean", one), Role::Raise, true, PromiseKind::Mean},
        {"split", node("split", one), Role::Raise, false, PromiseKind::Unbind},
        {"slice", node("slice", one), Role::PassThrough, false, PromiseKind::Operator},
        {"gather", node("gather", one), Role::PassThrough, false, PromiseKind::Operator},
        {"where", node("where", both), Role::Raise, false, PromiseKind::Operator},
        {"where constant", node("where", withConstant), Role::PassThrough, false, PromiseKind::Operator},
        {"cat", node("cat", both), Role::Raise, false, PromiseKind::Cat},
        {"cat constant", node("cat", withConstant), Role::Raise, false, PromiseKind::Cat},
        {"cat of one", node("cat", one), Role::PassThrough, false, PromiseKind::Operator},
        {"stack", node("stack", both), Role::Raise, false, PromiseKind::Stack},
        {"unbind", node("unbind", one), Role::Raise, false, PromiseKind::Unbind},
        {"softmax identity", node("softmax", one, "identity"), Role::Arg, false, PromiseKind::Softmax},
        {"softmax attn", node("softmax", one, "attn"), Role::Arg, true, PromiseKind::Softmax},
    };
}

} // namespace

class TensorArithmeticTest : public QObject
{
    Q_OBJECT

private slots:
    void rolesFollowFromWhatWasSaved_data();
    void rolesFollowFromWhatWasSaved();
    void everythingSavedMeansNoPromise();
    void axesAreNoBranches();
    void ledgerRowPerRule();
    void tensorsDieWithTheirLastReference();
    void constantsCannotBeExplained();
    void oracleCanBeStopped();
    void sumsOfPartsAreRemembered();
    void broadcastUnderSearch();
    void constantsUnderSearch();
    void threeOutputsOfWhichOneIsRead();
    void randomGraphs();
    void searchesCrossWhatMovesElements_data();
    void searchesCrossWhatMovesElements();
    void masksAreACause();
    void nothingIsKeptBeyondLiveness();
};

void TensorArithmeticTest::rolesFollowFromWhatWasSaved_data()
{
    QTest::addColumn<std::size_t>("index");
    const std::vector<Expected> rows = expectations();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        QTest::newRow(rows[i].name) << i;
    }
}

void TensorArithmeticTest::rolesFollowFromWhatWasSaved()
{
    QFETCH(std::size_t, index);
    const Expected expected = expectations()[index];
    OneOperation made(expected.operation);
    QCOMPARE(made.arithmetic().role(made.id()), expected.role);
    QCOMPARE(made.arithmetic().isStrict(made.id()), expected.isStrict);
    QCOMPARE(made.arithmetic().promiseKind(made.id()), expected.kind);
}

void TensorArithmeticTest::everythingSavedMeansNoPromise()
{
    const SpecGraph spec({source("x", "leaf", {2, 2}), node("unbind", {{0, 0}}), node("stack", {{1, 1}, {1, 0}}),
                          node("add", {{0, 0}, {2, 0}})});
    RETRO_MADE(made, tensorCaseOf(spec, {}));
    RETRO_MADE(run, runTensors(*made, retro::execute::SavePolicy::All));
    QCOMPARE(run->counts.promises, 0U);
    QCOMPARE(run->counts.visits, 4U);
    QCOMPARE(run->counts.visits, run->counts.normal);
}

// The axes of a sum are an operand of the node, but nothing that a promise would search.
void TensorArithmeticTest::axesAreNoBranches()
{
    OneOperation made(node("sum", {{kX, 0}}));
    QVERIFY(made.arithmetic().hasBranch(made.id(), 0));
    QVERIFY(!made.arithmetic().hasBranch(made.id(), 1));
}

void TensorArithmeticTest::ledgerRowPerRule()
{
    OneOperation made(node("add", {{kX, 0}, {kConstant, 0}}));
    retro::lrp::TensorArithmetic& arithmetic = made.arithmetic();
    const HandleId start = arithmetic.adopt(made.tensorCase().start);
    arithmetic.beginVisit(7);
    const std::vector<HandleId> shares = arithmetic.applyRule(made.id(), std::vector{start}, {});
    QCOMPARE(shares.size(), std::size_t{2});
    QVERIFY(arithmetic.tensor(shares[0]).bitEqual(made.tensorCase().start));
    QVERIFY(!shares[1].isValid());
    QCOMPARE(made.log().ledger.size(), std::size_t{1});
    QCOMPARE(made.log().ledger[0].visit, 7U);
    QCOMPARE(made.log().ledger[0].node, made.id().value);
    QCOMPARE(made.log().ledger[0].arrived, 4.0);
    QCOMPARE(made.log().ledger[0].unexplained(), 0.0);
}

void TensorArithmeticTest::tensorsDieWithTheirLastReference()
{
    OneOperation made(node("relu", {{kX, 0}}));
    retro::lrp::TensorArithmetic& arithmetic = made.arithmetic();
    Tensor tensor = Tensor::full(retro::tensor::DType::Float64, {2, 2}, 3);
    const std::weak_ptr<const retro::tensor::Storage> storage = tensor.storage();
    const HandleId handle = arithmetic.adopt(std::move(tensor));
    tensor = Tensor();
    arithmetic.retain(handle);
    arithmetic.release(handle);
    QVERIFY(!storage.expired());
    arithmetic.release(handle);
    QVERIFY(storage.expired());
}

void TensorArithmeticTest::constantsCannotBeExplained()
{
    OneOperation made(node("add", {{kX, 0}, {kConstant, 0}}));
    const retro::execute::BoundModel& model = *made.tensorCase().model;
    const auto graph = retro::lrp::TraversalGraph::build(model, *model.graph().findValue("k"));
    RETRO_REFUSED(graph, retro::base::ErrorCode::Input);
    QCOMPARE(
        graph.error().text(),
        std::string("value \"k\": this value cannot be explained: it is a constant; choose a floating-point result "
                    "that depends on the inputs"));
}

void TensorArithmeticTest::oracleCanBeStopped()
{
    OneOperation made(node("mul", {{kX, 0}, {kZ, 0}}));
    const TensorCase& tensorCase = made.tensorCase();
    const auto forward = retro::execute::forward(tensorCase.model, tensorCase.inputs, retro::execute::SavePolicy::All);
    std::stop_source stop;
    stop.request_stop();
    const auto table =
        retro::lrp::oracle(forward->saved, tensorCase.rules, tensorCase.graph, tensorCase.start, stop.get_token());
    RETRO_REFUSED(table, retro::base::ErrorCode::Cancelled);
}

// y = t(x + v) + w, where v is a row: the search carries values of the broadcast shape, relevance returns to the row's.
void TensorArithmeticTest::broadcastUnderSearch()
{
    SpecNode total = node("sum", {{5, 0}});
    total.axis = -1;
    total.keepsAxis = true;
    const SpecGraph spec({source("x", "leaf", {3, 2}), source("v", "leaf", {2}), source("w", "leaf", {2, 3}),
                          node("add", {{0, 0}, {1, 0}}), node("t", {{3, 0}}),
                          withId("y", node("add", {{4, 0}, {2, 0}})), total});
    QCOMPARE(faultOnTensors(spec), std::string());
    const auto made = tensorCaseOf(spec, {});
    RETRO_MADE(run, runTensors(*made, retro::execute::SavePolicy::Autograd));
    QCOMPARE(run->counts.promises, 3U);
    const NodeId row = made->model->graph().inputNode(*made->model->graph().findValue("v"));
    QCOMPARE(run->relevance[row.index()][0].shape(), (retro::tensor::Shape{2}));
}

// y = cat(relu x, k) + (k - z) with constants on either side and scalars.
void TensorArithmeticTest::constantsUnderSearch()
{
    const SpecGraph spec({source("x", "leaf", {2, 2}), source("z", "leaf", {4, 2}), source("k", "const", {2, 2}),
                          source("s", "const", {}), node("relu", {{0, 0}}), node("cat", {{4, 0}, {2, 0}}),
                          node("sub", {{3, 0}, {1, 0}}), withId("y", node("add", {{5, 0}, {6, 0}}))});
    QCOMPARE(faultOnTensors(spec), std::string());
}

void TensorArithmeticTest::threeOutputsOfWhichOneIsRead()
{
    const SpecGraph spec({source("x", "leaf", {3, 2}), source("z", "leaf", {2}), node("unbind", {{0, 0}}),
                          withId("y", node("add", {{2, 1}, {1, 0}}))});
    QCOMPARE(faultOnTensors(spec), std::string());
    const auto made = tensorCaseOf(spec, {});
    RETRO_MADE(run, runTensors(*made, retro::execute::SavePolicy::Autograd));
    const std::vector<Tensor>& relevance = run->relevance[made->model->graph().findNode("unbind")->index()];
    QVERIFY(!relevance[0].isValid() && relevance[1].isValid() && !relevance[2].isValid());
}

void TensorArithmeticTest::searchesCrossWhatMovesElements_data()
{
    QTest::addColumn<QString>("op");
    QTest::addColumn<int>("axis");
    QTest::addColumn<bool>("isFlat");
    for (const char* op : {"t", "neg", "clone", "slice", "gather"}) {
        for (const int axis : {0, 1}) {
            QTest::addRow("%s %d", op, axis) << op << axis << false;
        }
    }
    QTest::newRow("pad") << "pad" << 0 << true;
    QTest::newRow("expand") << "expand" << 0 << true;
}

// y = op(op(relu x)) + u: the search of the sum crosses both, the value of relu x goes up through them, relevance down.
void TensorArithmeticTest::searchesCrossWhatMovesElements()
{
    QFETCH(QString, op);
    QFETCH(int, axis);
    QFETCH(bool, isFlat);
    const auto moved = [&](std::string id, std::string name, std::size_t operand) {
        SpecNode made = withId(std::move(id), node(std::move(name), {{operand, 0}}));
        made.axis = axis;
        return made;
    };
    const retro::tensor::Shape shape = isFlat ? retro::tensor::Shape{1, 2} : retro::tensor::Shape{2, 2};
    SpecNode x = source("x", "leaf", shape);
    x.values = isFlat ? std::vector<double>{1, -2} : std::vector<double>{1, -2, 3, 0.5};
    const SpecGraph spec({x, source("u", "leaf", {2, 2}), node("relu", {{0, 0}}), moved("first", op.toStdString(), 2),
                          moved("second", isFlat ? "neg" : op.toStdString(), 3),
                          withId("y", node("add", {{4, 0}, {1, 0}}))});
    QCOMPARE(faultOnTensors(spec), std::string());
    const auto made = tensorCaseOf(spec, {});
    RETRO_MADE(run, runTensors(*made, retro::execute::SavePolicy::Autograd));
    std::vector<std::uint32_t> crossed;
    for (const retro::event::Event& event : run->events) {
        if (event.kind == retro::event::EventKind::Record) {
            crossed.push_back(event.node);
        }
    }
    const retro::graph::Graph& graph = made->model->graph();
    QCOMPARE(crossed, (std::vector<std::uint32_t>{graph.findNode("second")->value, graph.findNode("first")->value}));
    QCOMPARE(run->counts.promises, 1U);
}

// Elements that a mask takes from a constant get relevance that goes nowhere: masked, not to a constant.
void TensorArithmeticTest::masksAreACause()
{
    const SpecGraph spec(
        {source("x", "leaf", {2, 2}), source("k", "const", {2, 2}), withId("y", node("where", {{0, 0}, {1, 0}}))});
    QCOMPARE(faultOnTensors(spec), std::string());
    const auto run = runTensors(*tensorCaseOf(spec, {}), retro::execute::SavePolicy::Autograd);
    QVERIFY(run.ok() && run->ledger.size() == 1);
    using retro::event::Cause;
    QCOMPARE(run->ledger[0].causes[static_cast<std::size_t>(Cause::Mask)], 2.0); // two of four
    QCOMPARE(run->ledger[0].causes[static_cast<std::size_t>(Cause::Constant)], 0.0);
}

// Without recording, tensors live as long as somebody will read them: what the traversal holds, and what a node that
// answers several parents has just computed.
void TensorArithmeticTest::nothingIsKeptBeyondLiveness()
{
    constexpr std::int64_t kLastForward = 4 * 32; // outputs of one node
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        RETRO_MADE(made, tensorCaseOf(randomGraph(seed, 80), {}));
        const auto forward =
            retro::execute::forward(made->model, made->inputs, retro::execute::SavePolicy::Autograd).value();
        retro::event::NullSink sink;
        const std::int64_t before = retro::base::MemoryAccount::tensors().live();
        retro::lrp::TensorArithmetic arithmetic(forward.saved, made->rules, made->graph, sink, true);
        std::vector<HandleId> starts;
        for (const Tensor& start : made->starts()) {
            starts.push_back(arithmetic.adopt(start));
        }
        retro::lrp::Traversal traversal(made->graph, arithmetic, sink, starts);
        while (!traversal.finished()) {
            QVERIFY(traversal.step().ok());
            std::int64_t held = 0;
            for (const HandleId handle : heldHandles(traversal.view())) {
                held += arithmetic.tensor(handle).bytes();
            }
            const std::int64_t live = retro::base::MemoryAccount::tensors().live() - before;
            QVERIFY2(live <= held + kLastForward, qPrintable(QStringLiteral("seed %1, visit %2: %3 bytes, %4 are held")
                                                                 .arg(seed)
                                                                 .arg(traversal.counts().visits)
                                                                 .arg(live)
                                                                 .arg(held)));
        }
    }
}

// Of a sum of parts that is counted, the ledger's sums are at hand without another walk, and they are those of the
// tensor.
void TensorArithmeticTest::sumsOfPartsAreRemembered()
{
    using retro::tensor::DType;
    using retro::tensor::Tensor;
    const auto parts = [] {
        return std::vector{Tensor::full(DType::Float32, {3, 700}, 0.1), Tensor::full(DType::Float32, {3, 700}, 1e-4),
                           Tensor::full(DType::Float32, {3, 700}, -7)};
    };
    const retro::lrp::PartSum counted = retro::lrp::sumOf(parts(), {}, true);
    RETRO_MADE(found, retro::lrp::rememberedSums(counted.total));
    const auto expected = retro::ops::algebra::sumAndMagnitude(counted.total);
    QCOMPARE(found->sum, expected.sum);
    QCOMPARE(found->magnitude, expected.magnitude);
    const double each = static_cast<double>(0.1F) + static_cast<double>(1e-4F) - 7;
    QVERIFY(std::abs(counted.lost - (3 * 700 * each - expected.sum)) <= 1e-9);
    QVERIFY(counted.lost != 0);
    const retro::lrp::PartSum plain = retro::lrp::sumOf(parts(), {}, false);
    QVERIFY(plain.total.bitEqual(counted.total));
    QCOMPARE(plain.lost, 0.0);
    QVERIFY(!retro::lrp::rememberedSums(plain.total).has_value());
    QVERIFY(!retro::lrp::rememberedSums(counted.total.reshaped({2100})).has_value()); // seen in another shape
}

// Promise engine, policy All and oracle agree in every bit of every relevance.
void TensorArithmeticTest::randomGraphs()
{
    const auto check = [](const SpecGraph& spec, std::uint64_t) { return faultOnTensors(spec); };
    const std::string fault = firstFailure(1, 200, 60, check);
    QVERIFY2(fault.empty(), fault.c_str());
}

QTEST_APPLESS_MAIN(TensorArithmeticTest)
#include "tensorarithmetictest.moc"
