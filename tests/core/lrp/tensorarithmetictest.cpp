// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/tensorarithmetic.h"

#include "core/execute/forward.h"
#include "tests/core/lrp/eventlog.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/tensorrun.h"

#include <QTest>

#include <cmath>
#include <memory>
#include <stop_token>

using namespace retro::lrptest;
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
    void broadcastUnderSearch();
    void constantsUnderSearch();
    void threeOutputsOfWhichOneIsRead();
    void randomGraphs();
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
    const auto made = tensorCaseOf(spec, {});
    QVERIFY(made.ok());
    const auto run = runTensors(*made, retro::execute::SavePolicy::All);
    QVERIFY(run.ok());
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
    QVERIFY(!graph.ok());
    QCOMPARE(graph.error().code, retro::base::ErrorCode::Input);
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
    QVERIFY(!table.ok());
    QCOMPARE(table.error().code, retro::base::ErrorCode::Cancelled);
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
    const auto run = runTensors(*made, retro::execute::SavePolicy::Autograd);
    QVERIFY(run.ok());
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
    const auto run = runTensors(*made, retro::execute::SavePolicy::Autograd);
    QVERIFY(run.ok());
    const std::vector<Tensor>& relevance = run->relevance[made->model->graph().findNode("unbind")->index()];
    QVERIFY(!relevance[0].isValid() && relevance[1].isValid() && !relevance[2].isValid());
}

// Promise engine, policy All and oracle agree in every bit of every relevance.
void TensorArithmeticTest::randomGraphs()
{
    const auto check = [](const SpecGraph& spec, std::uint64_t) { return faultOnTensors(spec); };
    QCOMPARE(firstFailure(1, 200, 60, check), std::string());
}

QTEST_APPLESS_MAIN(TensorArithmeticTest)
#include "tensorarithmetictest.moc"
