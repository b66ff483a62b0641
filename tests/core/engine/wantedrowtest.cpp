// SPDX-License-Identifier: Apache-2.0
// The row of a target that is asked for, alone: the relevance of the whole model, its place in words, and what needs
// the whole model all the same.
#include "core/engine/ways/wantedrow.h"
#include "core/engine/ways/workload.h"
#include "core/event/observer.h"
#include "core/execute/followingnodes.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro;
using namespace retro::rewrite::testing;

namespace
{

constexpr std::int64_t kTokens = 7;
constexpr std::int64_t kWords = 40;
constexpr std::int64_t kWidth = 16;

/// A language model of one attention: its logits are capped, and its head is the turned table of the embedding.
SharedGraph languageModel(bool isCapped = true, bool hasSecondOutput = false)
{
    Writer writer;
    const ValueId ids = writer.integers("ids", {1, kTokens});
    const ValueId table = writer.constant("table", randomTensor({kWords, kWidth}, 1));
    const ValueId x = writer.node("Gather", "embedding", {table, ids});
    const ValueId q = writer.node("MatMul", "q", {x, writer.constant("wq", randomTensor({kWidth, kWidth}, 2))});
    const ValueId k = writer.node("Transpose", "k", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    const ValueId a =
        writer.node("Softmax", "a", {writer.node("MatMul", "scores", {q, k})}, {{"axis", std::int64_t{-1}}});
    const ValueId mixed = writer.node("Add", "mixed", {x, writer.node("MatMul", "y", {a, x})});
    const ValueId head = writer.node("Transpose", "head", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    ValueId logits = writer.node("MatMul", "words", {mixed, head});
    if (isCapped) {
        const ValueId cap = writer.constant("cap", Tensor::scalar<float>(3));
        logits = writer.node("Tanh", "tanh", {writer.node("Div", "divided", {logits, cap})});
        logits = writer.node("Mul", "logits", {logits, cap});
    }
    writer.output(logits);
    if (hasSecondOutput) {
        writer.output(mixed);
    }
    return writer.finish();
}

/// A layer as exporters write it: norms, turned queries and keys, a masked attention, a gate, sums with the stream.
ValueId addLayer(Writer& writer, const std::string& name, ValueId stream, unsigned seed, bool hidesBehind)
{
    constexpr std::int64_t kHeads = 2;
    constexpr std::int64_t kNewest = 23;
    const auto weight = [&](const std::string& part, std::int64_t rows, std::int64_t columns) {
        return writer.constant(name + part, randomTensor({rows, columns}, ++seed));
    };
    const auto shape = [&](const std::string& part, const std::vector<std::int64_t>& extents) {
        return writer.constant(name + part, Tensor::of<std::int64_t>({std::ssize(extents)}, extents));
    };
    const auto norm = [&](const std::string& part, ValueId x) {
        return writer.node("RMSNormalization", name + part,
                           {x, writer.constant(name + part + ".weight", randomTensor({kWidth}, ++seed, 0.5, 1.5))},
                           {{"axis", std::int64_t{-1}}}, kNewest);
    };
    const ValueId cos = writer.constant(name + "cos", randomTensor({1, kTokens, kWidth / kHeads / 2}, ++seed));
    const ValueId sin = writer.constant(name + "sin", randomTensor({1, kTokens, kWidth / kHeads / 2}, ++seed));
    const ValueId split = shape("split", {1, kTokens, kHeads, kWidth / kHeads});
    const std::vector<std::int64_t> swap{0, 2, 1, 3};
    const ValueId normed = norm("normed", stream);
    const auto heads = [&](const std::string& part) {
        const ValueId x = writer.node("MatMul", name + part, {normed, weight(part + ".weight", kWidth, kWidth)});
        return writer.node("Transpose", name + part + "heads",
                           {writer.node("Reshape", name + part + "view", {x, split})}, {{"perm", swap}});
    };
    const ValueId q = writer.node("RotaryEmbedding", name + "qturned", {heads("q"), cos, sin}, {}, kNewest);
    const ValueId k = writer.node("RotaryEmbedding", name + "kturned", {heads("k"), cos, sin}, {}, kNewest);
    std::vector<float> mask;
    for (std::int64_t i = 0; i < kTokens * kTokens; ++i) {
        mask.push_back(hidesBehind && i % kTokens > i / kTokens ? -std::numeric_limits<float>::infinity() : 0.0F);
    }
    const ValueId masked = writer.constant(name + "mask", Tensor::of<float>({kTokens, kTokens}, mask));
    ValueId y = writer.node("Attention", name + "attention", {q, k, heads("v"), masked}, {}, kNewest);
    y = writer.node("Transpose", name + "tokens", {y}, {{"perm", swap}});
    y = writer.node("Reshape", name + "flat", {y, shape("joined", {1, -1, kWidth})});
    y = writer.node("MatMul", name + "out", {y, weight("out.weight", kWidth, kWidth)});
    stream = writer.node("Add", name + "middle", {stream, y});
    const ValueId x = norm("inner", stream);
    const ValueId gate = writer.node("MatMul", name + "gate", {x, weight("gate.weight", kWidth, kWidth)});
    const ValueId up = writer.node("MatMul", name + "up", {x, weight("up.weight", kWidth, kWidth)});
    ValueId gated = writer.node("Mul", name + "silu", {gate, writer.node("Sigmoid", name + "sigmoid", {gate})});
    gated = writer.node("Mul", name + "gated", {gated, up});
    gated = writer.node("MatMul", name + "down", {gated, weight("down.weight", kWidth, kWidth)});
    return writer.node("Add", name + "stream", {stream, gated});
}

/// How a written-out attention hides what lies behind.
enum class Mask { Added, Chosen, Guarded, Computed, Capped, TooWeak, OfHalf, Replaced };

/// An attention in single operators, as exporters of older operator sets write it: turned halves, keys that heads
/// share, a scale on both sides, a mask, a guard. `mask` is an input of all tokens for those that are computed.
ValueId addWrittenLayer(Writer& writer, const std::string& name, ValueId stream, ValueId given, unsigned seed,
                        Mask kind)
{
    constexpr std::int64_t kHeads = 2;
    constexpr std::int64_t kHalf = kWidth / kHeads / 2;
    const auto shape = [&](const std::string& part, const std::vector<std::int64_t>& extents) {
        return writer.constant(name + part, Tensor::of<std::int64_t>({std::ssize(extents)}, extents));
    };
    const auto weight = [&](const std::string& part, std::int64_t rows, std::int64_t columns) {
        return writer.constant(name + part, randomTensor({rows, columns}, ++seed));
    };
    const auto number = [&](const std::string& part, float value) {
        return writer.constant(name + part, Tensor::scalar<float>(value));
    };
    const ValueId turn = writer.constant(name + "turn", randomTensor({1, 1, kTokens, 2 * kHalf}, ++seed));
    const ValueId first = shape("first", {0});
    const ValueId half = shape("half", {kHalf});
    const ValueId whole = shape("whole", {2 * kHalf});
    const ValueId last = shape("lastaxis", {3});
    const auto turned = [&](const std::string& part, ValueId x) {
        const ValueId left = writer.node("Slice", name + part + "left", {x, first, half, last});
        const ValueId right = writer.node("Slice", name + part + "right", {x, half, whole, last});
        const ValueId halves =
            writer.node("Concat", name + part + "halves", {writer.node("Neg", name + part + "minus", {right}), left},
                        {{"axis", std::int64_t{-1}}});
        return writer.node("Add", name + part + "turned",
                           {writer.node("Mul", name + part + "cos", {x, turn}),
                            writer.node("Mul", name + part + "sin", {halves, turn})});
    };
    const auto heads = [&](const std::string& part, std::int64_t count) {
        const ValueId rows = writer.node("Reshape", name + part + "rows", {stream, shape(part + "flat", {-1, kWidth})});
        const ValueId bias = writer.constant(name + part + "bias", randomTensor({count * 2 * kHalf}, ++seed));
        const ValueId x =
            writer.node("Gemm", name + part, {rows, weight(part + ".weight", kWidth, count * 2 * kHalf), bias});
        return writer.node(
            "Transpose", name + part + "heads",
            {writer.node("Reshape", name + part + "view", {x, shape(part + "split", {1, -1, count, 2 * kHalf})})},
            {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    };
    const ValueId q = turned("q", heads("q", kHeads));
    ValueId k = turned("k", heads("k", 1));
    const ValueId v = heads("v", kHeads);
    k = writer.node("Expand", name + "kshared", {k, shape("kshape", {1, kHeads, kTokens, 2 * kHalf})});
    k = writer.node("Mul", name + "kscaled", {k, number("kscale", 0.7F)});
    k = writer.node("Transpose", name + "kcolumns", {k}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
    ValueId z = writer.node("MatMul", name + "scores", {q, k});
    z = writer.node("Mul", name + "scaled", {z, number("scale", 0.5F)});
    if (kind == Mask::Capped) {
        z = writer.node("Tanh", name + "capped", {z});
    }
    const float low = kind == Mask::TooWeak  ? -5.0F
                      : kind == Mask::OfHalf ? -65504.0F // which scores may make up for
                                             : std::numeric_limits<float>::lowest();
    std::vector<float> added;
    std::vector<bool> seen;
    for (std::int64_t i = 0; i < kTokens * kTokens; ++i) {
        seen.push_back(i % kTokens <= i / kTokens);
        added.push_back(seen.back() ? 0.0F : low);
    }
    const ValueId sum = writer.constant(name + "mask", Tensor::of<float>({kTokens, kTokens}, added));
    const ValueId isSeen = writer.node("Equal", name + "seen", {sum, number("none", 0)});
    if (kind == Mask::Chosen || kind == Mask::Replaced) {
        z = writer.node("Where", name + "masked", {isSeen, z, number("low", low)});
    } else if (kind == Mask::Computed) {
        const ValueId some = writer.node("Greater", name + "some", {given, number("nothing", 0)});
        const ValueId both = writer.node("And", name + "both", {isSeen, some});
        z = writer.node("Add", name + "masked",
                        {z, writer.node("Where", name + "mask", {both, number("zero", 0), number("low", low)})});
    } else {
        z = writer.node("Add", name + "masked", {z, sum});
    }
    if (kind == Mask::Replaced) { // the other way round, for half of them
        z = writer.node("Where", name + "replaced", {isSeen, z, number("one", 1)});
    }
    ValueId a = writer.node("Softmax", name + "a", {z}, {{"axis", std::int64_t{-1}}});
    if (kind == Mask::Guarded) {
        a = writer.node("Where", name + "guarded", {writer.node("IsNaN", name + "isnan", {a}), number("zero", 0), a});
    }
    ValueId y = writer.node("Transpose", name + "tokens", {writer.node("MatMul", name + "mixed", {a, v})},
                            {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    y = writer.node("Reshape", name + "joined", {y, shape("joinedshape", {1, kTokens, kWidth})});
    y = writer.node("MatMul", name + "out", {y, weight("out.weight", kWidth, kWidth)});
    return writer.node("Add", name + "stream", {stream, y});
}

SharedGraph writtenModel(Mask kind)
{
    Writer writer;
    const ValueId ids = writer.integers("ids", {1, kTokens});
    const ValueId given = writer.integers("attention_mask", {1, kTokens});
    ValueId x = writer.node("Gather", "embedding", {writer.constant("table", randomTensor({kWords, kWidth}, 1)), ids});
    const ValueId mask = writer.node("Cast", "given", {given}, {{"to", std::int64_t{1}}});
    x = addWrittenLayer(writer, "first.", x, mask, 10, kind);
    x = addWrittenLayer(writer, "last.", x, mask, 50, kind);
    writer.output(writer.node("MatMul", "words", {x, writer.constant("head", randomTensor({kWidth, kWords}, 2))}));
    return writer.finish();
}

SharedGraph layeredModel(bool hidesBehind = true, bool lastHidesBehind = true)
{
    Writer writer;
    const ValueId ids = writer.integers("ids", {1, kTokens});
    ValueId x = writer.node("Gather", "embedding", {writer.constant("table", randomTensor({kWords, kWidth}, 1)), ids});
    x = addLayer(writer, "first.", x, 10, hidesBehind);
    x = addLayer(writer, "last.", x, 50, hidesBehind && lastHidesBehind);
    writer.output(writer.node("MatMul", "words", {x, writer.constant("head", randomTensor({kWidth, kWords}, 2))}));
    return writer.finish();
}

engine::LoadedModel loaded(const SharedGraph& graph)
{
    graph::GraphBuilder builder; // of a copy whose outputs have their number of axes declared, as in files
    engine::LoadedModel model;
    model.name = "model";
    model.path = "model.onnx";
    for (std::size_t i = 0; i < graph->valueCount(); ++i) {
        graph::Value value = graph->value(ValueId(i));
        ValueId copy;
        if (value.kind == graph::ValueKind::Input) {
            copy = builder.addInput(value.name, value.dtype, value.shape);
        } else if (value.kind == graph::ValueKind::Constant) {
            copy = builder.addConstant(value.name, value.constant);
        } else {
            copy = builder.addResult(value.name);
            const bool isLogits = std::ranges::count(graph->outputs(), ValueId(i)) > 0;
            builder.declare(copy, DType::Float32,
                            isLogits ? std::optional(std::vector<graph::Dimension>(3)) : std::nullopt);
        }
    }
    for (const graph::Node& node : graph->nodes()) {
        builder.addNode(node);
    }
    for (const ValueId output : graph->outputs()) {
        builder.addOutput(output);
    }
    builder.setOpset("", 17);
    const auto built = std::make_shared<const Graph>(std::move(builder).build().value());
    model.rewritten = rewrite::rewrite(built, {}).value();
    model.read = built;
    return model;
}

engine::ExplainRequest request(const char* target, bool inputsOnly = true)
{
    engine::ExplainRequest made;
    const std::vector<std::int64_t> ids{3, 1, 4, 1, 5, 9, 2};
    made.inputs = {Tensor::of<std::int64_t>({1, kTokens}, ids)};
    made.target = engine::parseTarget(target).value();
    made.composite = "attnlrp";
    made.inputsOnly = inputsOnly;
    return made;
}

/// Counts the nodes that forward passes compute for the first time.
class ForwardNodes final : public event::PerformanceObserver
{
public:
    void onNodeProcessed(base::NodeId, const event::NodeWork& work) override
    {
        m_count += work.half == event::Half::Forward && !work.isRepeat ? 1 : 0;
    }
    void onMemoryDecision(ValueId, event::MemoryChoice, std::int64_t, std::string_view) override {}
    [[nodiscard]] int count() const { return m_count; }

private:
    int m_count = 0;
};

std::string nameOfLogits(bool isCapped) { return isCapped ? "logits_out" : "words_out"; }

} // namespace

class WantedRowTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceIsThatOfTheWholeModel_data()
    {
        QTest::addColumn<bool>("isCapped");
        QTest::addColumn<QString>("place");
        QTest::addColumn<int>("position");
        for (const bool isCapped : {false, true}) {
            for (const int position : {0, 3, 6}) {
                const std::string name = nameOfLogits(isCapped);
                QTest::addRow("index %d %d", static_cast<int>(isCapped), position)
                    << isCapped << QString::fromStdString(name + ":0," + std::to_string(position) + ",11") << position;
                QTest::addRow("place %d %d", static_cast<int>(isCapped), position)
                    << isCapped << QStringLiteral("token=%1,class=11").arg(position) << position;
            }
        }
    }
    void relevanceIsThatOfTheWholeModel()
    {
        QFETCH(const bool, isCapped);
        QFETCH(const QString, place);
        QFETCH(const int, position);
        const engine::LoadedModel model = loaded(languageModel(isCapped));
        const std::string target = place.toStdString();
        QVERIFY(engine::WantedRow::of(model, request(target.c_str())));
        RETRO_MADE(row, engine::explain(model, request(target.c_str())));
        RETRO_MADE(whole, engine::explain(model, request(target.c_str(), false)));
        const std::size_t ids = model.graph()->inputs()[0].index();
        QVERIFY(row->relevance[ids].isValid());
        QVERIFY(row->relevance[ids].bitEqual(whole->relevance[ids]));
        QCOMPARE(row->target.index, whole->target.index);
        QCOMPARE(row->target.index[0], position * kWords + 11);
        QCOMPARE(row->target.logit, whole->target.logit);
        QCOMPARE(row->target.place, whole->target.place);
        QVERIFY(row->target.start.bitEqual(whole->target.start));
        QCOMPARE(row->relevanceStart, whole->relevanceStart);
    }

    void theHeadMakesOneRow()
    {
        const engine::LoadedModel model = loaded(languageModel());
        RETRO_MADE(asked, engine::WantedRow::of(model, request("logits_out:0,3,11")));
        RETRO_MADE(result, engine::explain(asked->model(), asked->request()));
        QCOMPARE(result->outputs[0].shape(), (Shape{1, 1, kWords}));
    }

    void otherQuestionsNeedTheWholeModel()
    {
        const engine::LoadedModel model = loaded(languageModel());
        const auto needsAll = [&model](const engine::ExplainRequest& one) {
            return !engine::WantedRow::of(model, one);
        };
        QVERIFY(needsAll(request("argmax")));
        QVERIFY(needsAll(request("logits_out:0,3,11", false)));
        QVERIFY(needsAll(request("logits_out")));
        QVERIFY(needsAll(request("mixed_out:0,3,1")));
        QVERIFY(needsAll(request("tanh_out:0,3,1"))); // another node reads it
        engine::ExplainRequest other = request("logits_out:0,3,11");
        other.start = engine::parseStart("contrastive").value();
        QVERIFY(needsAll(other));
        other = request("logits_out:0,3,11");
        other.precision = execute::Precision::Double;
        QVERIFY(needsAll(other));
        other = request("logits_out:0,3,11");
        for (const char* const among :
             {"attnlrp:filter=0.5", "dynamic", "attnlrp:stabiliser=rms", "attnlrp | op:MatMul=epsilon:stabiliser=rms",
              "attnlrp | op:MatMul=epsilon:filter=0.5",
              "attnlrp | op:Softmax=softmax-taylor:causal=true"}) { // that ask all rows
            other.composite = among;
            QVERIFY2(needsAll(other), among);
        }
        for (const char* const ofPicks : {"attnlrp | op:Pad=stop", "attnlrp | op:Add,Gather=stop",
                                          "attnlrp | name:*=stop", "attnlrp | from:Gather&op:MatMul=stop"}) {
            other.composite = ofPicks; // what picks rows is no part of the model
            QVERIFY2(needsAll(other), ofPicks);
        }
        for (const char* const plain : {"attnlrp | op:MatMul=epsilon:epsilon=0.1", "attnlrp | name:*=gradient",
                                        "epsilon | from:Add&op:MatMul=stop"}) {
            other.composite = plain;
            QVERIFY2(!needsAll(other), plain);
        }
    }

    void otherOutputsStayWhole()
    {
        const engine::LoadedModel model = loaded(languageModel(true, true));
        RETRO_MADE(row, engine::explain(model, request("logits_out:0,3,11")));
        RETRO_MADE(whole, engine::explain(model, request("logits_out:0,3,11", false)));
        const std::size_t ids = model.graph()->inputs()[0].index();
        QVERIFY(row->relevance[ids].bitEqual(whole->relevance[ids]));
        QCOMPARE(row->outputs[0].shape(), (Shape{1, 1, kWords}));
        QVERIFY(row->outputs[1].bitEqual(whole->outputs[1]));
    }

    // Queries, gate and sums of the last layer are of the row; keys, values, and the layer before of the rows up to it,
    // or of all where attentions see those behind.
    void theLastLayerIsComputedForTheRow_data()
    {
        QTest::addColumn<bool>("hidesBehind");
        QTest::addColumn<QString>("target");
        QTest::addColumn<int>("before");
        QTest::newRow("up to it") << true << "words_out:0,3,11" << 4;
        QTest::newRow("first") << true << "words_out:0,0,11" << 1;
        QTest::newRow("last") << true << "words_out:0,6,11" << static_cast<int>(kTokens);
        QTest::newRow("all") << false << "words_out:0,3,11" << static_cast<int>(kTokens);
    }
    void theLastLayerIsComputedForTheRow()
    {
        QFETCH(const bool, hidesBehind);
        QFETCH(const QString, target);
        QFETCH(const int, before);
        const engine::LoadedModel model = loaded(layeredModel(hidesBehind));
        RETRO_MADE(asked, engine::WantedRow::of(model, request(target.toStdString().c_str())));
        RETRO_MADE(narrow, asked->narrowed({}));
        RETRO_MADE(result, engine::explain(*narrow, asked->request()));
        const auto rowsOf = [&](const char* value, std::size_t axis) {
            const std::optional<ValueId> id = result->model->graph().findValue(value);
            return id ? result->model->typeOf(*id).shape[axis] : -1;
        };
        for (const char* const value : {"last.q_out", "last.flat_out", "last.middle_out", "last.inner_out",
                                        "last.down_out", "last.stream_out", "words_out"}) {
            QCOMPARE(rowsOf(value, 1), std::int64_t{1});
        }
        QCOMPARE(rowsOf("last.qturned_out", 2), std::int64_t{1});
        QCOMPARE(rowsOf("last.attention_out", 2), std::int64_t{1});
        for (const char* const value : {"last.normed_out", "last.k_out", "last.v_out", "first.stream_out",
                                        "first.flat_out", "first.q_out", "first.normed_out"}) {
            QCOMPARE(rowsOf(value, 1), std::int64_t{before});
        }
        QCOMPARE(rowsOf("first.attention_out", 2), kTokens); // with the bits of all keys
        const std::size_t ids = model.graph()->inputs()[0].index();
        RETRO_MADE(whole, engine::explain(model, request(target.toStdString().c_str(), false)));
        QVERIFY(result->relevance[ids].bitEqual(whole->relevance[ids]));
    }

    // The same of attentions in single operators, whatever hides the keys, as long as it does.
    void writtenOutAttentionsAreCutToo_data()
    {
        QTest::addColumn<int>("mask");
        QTest::addColumn<int>("position");
        QTest::addColumn<int>("hidden"); // a token that the mask leaves out; none: -1
        QTest::addColumn<bool>("isCut");
        QTest::addColumn<bool>("isFused"); // into one node, whose members read what it does
        const std::vector<std::pair<const char*, Mask>> kinds{{"added", Mask::Added},     {"chosen", Mask::Chosen},
                                                              {"guarded", Mask::Guarded}, {"computed", Mask::Computed},
                                                              {"capped", Mask::Capped},   {"too weak", Mask::TooWeak},
                                                              {"of half", Mask::OfHalf},  {"replaced", Mask::Replaced}};
        for (const auto& [name, kind] : kinds) {
            for (const int position : {0, 3, 6}) {
                const bool hides = kind != Mask::TooWeak && kind != Mask::OfHalf && kind != Mask::Replaced;
                QTest::addRow("%s %d", name, position) << static_cast<int>(kind) << position << -1 << hides << false;
                QTest::addRow("%s %d, fused", name, position)
                    << static_cast<int>(kind) << position << -1 << hides << true;
            }
        }
        QTest::newRow("one token left out") << static_cast<int>(Mask::Computed) << 3 << 1 << true << false;
        QTest::newRow("a row left out") << static_cast<int>(Mask::Computed) << 3 << 0 << false << false;
    }
    void writtenOutAttentionsAreCutToo()
    {
        QFETCH(const int, mask);
        QFETCH(const int, position);
        QFETCH(const int, hidden);
        QFETCH(const bool, isCut);
        QFETCH(const bool, isFused);
        engine::LoadedModel model = loaded(writtenModel(static_cast<Mask>(mask)));
        rewrite::RewriteOptions options;
        options.fuseAttention = isFused;
        model.rewritten = rewrite::rewrite(model.read, options).value();
        engine::ExplainRequest asked = request(("words_out:0," + std::to_string(position) + ",11").c_str());
        std::vector<std::int64_t> given(kTokens, 1);
        if (hidden >= 0) {
            given[static_cast<std::size_t>(hidden)] = 0;
        }
        asked.inputs.push_back(Tensor::of<std::int64_t>({1, kTokens}, given));
        RETRO_MADE(row, engine::WantedRow::of(model, asked));
        RETRO_MADE(narrow, row->narrowed({}));
        RETRO_MADE(result, engine::explain(*narrow, row->request()));
        RETRO_MADE(keys, result->model->graph().findValue("first.k_out"));
        if (!isFused || isCut) { // a fused one of another form may hide them as well
            QCOMPARE(result->model->typeOf(*keys).shape[0], std::int64_t{isCut ? position + 1 : kTokens});
        }
        asked.inputsOnly = false;
        for (const engine::EngineKind kind : {engine::EngineKind::Promise, engine::EngineKind::Compiled}) {
            asked.engine = kind;
            RETRO_MADE(whole, engine::explain(model, asked));
            const std::size_t ids = model.graph()->inputs()[0].index();
            QVERIFY(result->relevance[ids].bitEqual(whole->relevance[ids]));
            QCOMPARE(result->target.logit, whole->target.logit);
        }
    }

    // Each token has a matrix of its own, in front of a layer or behind all.
    void aMatrixForEachRow_data()
    {
        QTest::addColumn<int>("position");
        for (const int position : {0, 3, 6}) {
            QTest::addRow("%d", position) << position;
        }
    }
    void aMatrixForEachRow()
    {
        QFETCH(const int, position);
        Writer writer;
        const ValueId ids = writer.integers("ids", {1, kTokens});
        const std::vector<std::int64_t> swap{1, 0, 2};
        ValueId x =
            writer.node("Gather", "embedding", {writer.constant("table", randomTensor({kWords, kWidth}, 1)), ids});
        for (const std::string name : {"first.", "last."}) {
            const ValueId own = writer.constant(name + "own", randomTensor({kTokens, kWidth, kWidth}, 4));
            x = writer.node("Transpose", name + "rows", {x}, {{"perm", swap}});
            x = writer.node("MatMul", name + "mapped", {x, own});
            x = writer.node("Transpose", name + "back", {x}, {{"perm", swap}});
            x = name == "first." ? addLayer(writer, "layer.", x, 10, true) : x;
        }
        writer.output(writer.node("MatMul", "words", {x, writer.constant("head", randomTensor({kWidth, kWords}, 2))}));
        const engine::LoadedModel model = loaded(writer.finish());
        engine::ExplainRequest asked = request(("words_out:0," + std::to_string(position) + ",11").c_str());
        const auto row = engine::explain(model, asked);
        asked.inputsOnly = false;
        const auto whole = engine::explain(model, asked);
        QVERIFY2(row.ok() && whole.ok(), row.ok() ? "" : row.error().text().c_str());
        const std::size_t ofIds = model.graph()->inputs()[0].index();
        QVERIFY(row->relevance[ofIds].bitEqual(whole->relevance[ofIds]));
        QCOMPARE(row->target.logit, whole->target.logit);
    }

    // The last layer sees all tokens, so that those of the layer before it are not the prefix's alone.
    void aLayerThatHidesIsWholeForOneThatDoesNot()
    {
        const engine::LoadedModel model = loaded(layeredModel(true, false));
        const auto row = engine::explain(model, request("words_out:0,3,11"));
        const auto whole = engine::explain(model, request("words_out:0,3,11", false));
        QVERIFY(row.ok() && whole.ok());
        const std::size_t ids = model.graph()->inputs()[0].index();
        QVERIFY(row->relevance[ids].bitEqual(whole->relevance[ids]));
        QCOMPARE(row->target.logit, whole->target.logit);
    }

    void everyEngineHasTheBitsOfTheRow_data()
    {
        QTest::addColumn<QString>("composite");
        QTest::addColumn<int>("position");
        for (const char* const composite : {"attnlrp", "cp_lrp", "epsilon", "gradient", "attnlrp:epsilon=1e-6"}) {
            for (const int position : {0, 2, 5, 6}) {
                QTest::addRow("%s %d", composite, position) << QString::fromLatin1(composite) << position;
            }
        }
    }
    void everyEngineHasTheBitsOfTheRow()
    {
        QFETCH(const QString, composite);
        QFETCH(const int, position);
        const engine::LoadedModel model = loaded(layeredModel());
        const std::size_t ids = model.graph()->inputs()[0].index();
        engine::ExplainRequest asked = request(("words_out:0," + std::to_string(position) + ",11").c_str());
        asked.composite = composite.toStdString();
        RETRO_MADE(row, engine::explain(model, asked));
        QCOMPARE(row->outputs[0].shape(), (Shape{1, 1, kWords}));
        QCOMPARE(row->target.index[0], position * kWords + 11);
        asked.inputsOnly = false;
        for (const engine::EngineKind kind :
             {engine::EngineKind::Promise, engine::EngineKind::Compiled, engine::EngineKind::Oracle}) {
            asked.engine = kind;
            RETRO_MADE(whole, engine::explain(model, asked));
            QVERIFY(row->relevance[ids].bitEqual(whole->relevance[ids]));
            QVERIFY(row->target.start.bitEqual(whole->target.start));
            for (std::int64_t token = position + 1; token < kTokens; ++token) {
                QCOMPARE(row->relevance[ids].at(token), 0.0); // behind the asked token nothing has relevance
            }
        }
    }

    // Nothing is bound again, nothing computed for another word at the same position, and for another only its row.
    void aSecondQuestionGoesOnFromTheForwardPass()
    {
        const auto model = std::make_shared<const engine::LoadedModel>(loaded(languageModel()));
        const std::size_t ids = model->graph()->inputs()[0].index();
        engine::Explainer explainer(model);
        struct Question
        {
            const char* target;
            bool isReused;
            int nodes;
        };
        const int all = static_cast<int>(model->graph()->nodeCount()) + 1; // and the choice of the row
        const execute::FollowingNodes behind(*model->graph(), model->graph()->findValue("mixed_out").value());
        const int ofARow = static_cast<int>(behind.nodes().size()) + 1; // the choice, the product, and what caps it
        std::shared_ptr<const execute::BoundModel> bound;
        for (const Question& question :
             {Question{"logits_out:0,3,11", false, all}, Question{"logits_out:0,3,2", true, 0},
              Question{"logits_out:0,3,11", true, 0}, Question{"logits_out:0,6,2", true, ofARow},
              Question{"logits_out:0,1,7", true, ofARow}, Question{"logits_out:0,1,8", true, 0}}) {
            engine::ExplainRequest asked = request(question.target);
            asked.keepsPass = true;
            ForwardNodes nodes;
            const event::ObserverScope observed(&nodes);
            RETRO_MADE(made, explainer.explain(asked));
            QCOMPARE(made->forwardReused, question.isReused);
            QCOMPARE(nodes.count(), question.nodes);
            QVERIFY(bound == nullptr || made->model == bound);
            bound = made->model;
            RETRO_MADE(alone, engine::explain(*model, request(question.target)));
            QVERIFY(made->relevance[ids].bitEqual(alone->relevance[ids]));
            QCOMPARE(made->target.index, alone->target.index);
            QCOMPARE(made->target.logit, alone->target.logit);
            QCOMPARE(made->relevanceStart, alone->relevanceStart);
            QVERIFY(made->outputs[0].bitEqual(alone->outputs[0]));
        }
    }

    void anotherTextIsComputedAnew()
    {
        const auto model = std::make_shared<const engine::LoadedModel>(loaded(languageModel()));
        const std::size_t ids = model->graph()->inputs()[0].index();
        engine::Explainer explainer(model);
        engine::ExplainRequest asked = request("logits_out:0,3,11");
        asked.keepsPass = true;
        QVERIFY(explainer.explain(asked).ok());
        const std::vector<std::int64_t> others{3, 1, 4, 1, 5, 9, 7};
        asked.inputs = {Tensor::of<std::int64_t>({1, kTokens}, others)};
        for (const char* const composite : {"attnlrp", "gradient", "epsilon"}) { // rules may read what was not kept
            asked.composite = composite;
            RETRO_MADE(made, explainer.explain(asked));
            QVERIFY(asked.composite != "attnlrp" || !made->forwardReused);
            const auto alone = engine::explain(*model, asked);
            QVERIFY(alone.ok() && made->relevance[ids].bitEqual(alone->relevance[ids]));
        }
        asked.keepsPass = false;
        const auto last = explainer.explain(asked);
        QVERIFY(last.ok() && !last->forwardReused);
    }

    void aPositionBehindTheEndIsRefusedAsEver()
    {
        for (const bool hasLayers : {false, true}) {
            const engine::LoadedModel model = loaded(hasLayers ? layeredModel() : languageModel());
            const char* const target = hasLayers ? "words_out:0,7,11" : "logits_out:0,7,11";
            const auto row = engine::explain(model, request(target));
            const auto whole = engine::explain(model, request(target, false));
            QVERIFY(!row.ok() && !whole.ok());
            QCOMPARE(row.error().text(), whole.error().text());
        }
    }

    void anEstimateCountsWhatThereIs()
    {
        const engine::LoadedModel model = loaded(languageModel());
        RETRO_MADE(row, engine::estimate(model, request("logits_out:0,3,11")));
        RETRO_MADE(whole, engine::estimate(model, request("logits_out:0,3,11", false)));
        const std::uint64_t table = kWords * kWidth * sizeof(float);
        QVERIFY(row->weightBytes >= table);
        QVERIFY(row->tensorBytes < whole->tensorBytes);
        QVERIFY(row->flops < whole->flops);
        QVERIFY(row->processBytes > row->tensorBytes + row->weightBytes);
        QVERIFY(row->seconds > 0);
        QVERIFY(engine::checkEstimate(*row).ok());
        engine::PassEstimate large = *row;
        large.tensorBytes = std::uint64_t{1} << 50U;
        QCOMPARE(engine::checkEstimate(large).error().code, base::ErrorCode::Memory);
    }
};

QTEST_GUILESS_MAIN(WantedRowTest)
#include "wantedrowtest.moc"
