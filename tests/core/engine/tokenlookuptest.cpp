// SPDX-License-Identifier: Apache-2.0
// Tokens that are moved, shifted, clamped, wrapped or repaired before they choose rows, and rows that are chosen by
// one-hot rows times a table: a number per token, that of the same model with a plain Gather.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/population.h"
#include "core/engine/verify/rewritechecks.h"
#include "core/tensor/npy.h"
#include "tests/core/engine/relevancenetworks.h"

#include <functional>

using namespace retro;
using namespace retro::engine::testing;
using tensor::DType;

namespace
{

constexpr std::int64_t kWords = 6;
constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kTokens = 5;
const tensor::Shape kShape{1, kTokens};

ValueId whole(Writer& writer, const std::string& name, const Ints& numbers, bool isScalar = false)
{
    const tensor::Shape shape = isScalar ? tensor::Shape{} : tensor::Shape{std::ssize(numbers)};
    return writer.constant(name, Tensor::of<std::int64_t>(shape, numbers));
}

ValueId table(Writer& writer) { return writer.constant("table", randomTensor({kWords, kWidth}, 3)); }

/// Rows → tanh → mean over tokens → three classes.
SharedGraph finished(Writer& writer, ValueId rows)
{
    const ValueId bent = writer.node("Tanh", "bent", {rows});
    const ValueId mean = writer.node("ReduceMean", "mean", {bent}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}});
    const ValueId weight = writer.constant("weight", randomTensor({kWidth, 3}, 4));
    writer.output(writer.node("MatMul", "scores", {mean, weight}));
    return writer.finish();
}

/// A model of tokens, by what gives their rows.
SharedGraph modelWith(const std::function<ValueId(Writer&, ValueId)>& rows)
{
    Writer writer;
    const ValueId tokens = writer.integers("tokens", kShape);
    return finished(writer, rows(writer, tokens));
}

/// One of twenty words.
SharedGraph modelOfMany()
{
    return modelWith([](Writer& writer, ValueId tokens) {
        return writer.node("Gather", "rows", {writer.constant("table", randomTensor({20, kWidth}, 3)), tokens});
    });
}

/// Relevance of the first input for the class with the best score; invalid where it cannot be explained.
engine::ExplainResult explained(const SharedGraph& graph, const Ints& tokens, const std::string& composite)
{
    const engine::LoadedModelPointer model = modelOf(graph);
    engine::ExplainRequest request;
    request.composite = composite;
    request.precision = execute::Precision::Double;
    request.inputs = {Tensor::of<std::int64_t>(kShape, tokens)};
    request.target.kind = engine::TargetRequest::Kind::Class;
    auto result = engine::explain(*model, request);
    if (!result.ok()) {
        qWarning("%s", result.error().text().c_str());
    }
    return result.ok() ? std::move(result).value() : engine::ExplainResult();
}

Tensor relevanceOf(const engine::ExplainResult& result)
{
    return result.model ? result.relevance[result.model->graph().inputs().front().index()] : Tensor();
}

ValueId gathered(Writer& writer, ValueId indices) { return writer.node("Gather", "rows", {table(writer), indices}); }

ValueId oneHotProduct(Writer& writer, ValueId column, const ValueId iota)
{
    const ValueId equal = writer.node("Equal", "equal", {column, iota});
    const ValueId hot = writer.node("Cast", "hot", {equal}, {{"to", std::int64_t{1}}});
    return writer.node("MatMul", "rows", {hot, table(writer)});
}

ValueId columnOf(Writer& writer, ValueId tokens, std::int64_t axis)
{
    return writer.node("Unsqueeze", "column", {tokens, whole(writer, "axes", {axis})});
}

/// The sum over the last axis but one.
ValueId summed(Writer& writer, ValueId products)
{
    return writer.node("ReduceSum", "rows", {products, whole(writer, "columns", {-2})},
                       {{"keepdims", std::int64_t{0}}});
}

struct Lookup
{
    const char* name;
    std::function<ValueId(Writer&, ValueId)> rows;
    Ints tokens;
    Ints plain; ///< what a plain Gather reads; −1: nothing, so that the row is 0
};

std::vector<Lookup> lookups()
{
    const Ints usual{0, 5, 2, 2, 3};
    return {
        {"wrapped",
         [](Writer& w, ValueId x) {
             const ValueId isBelow = w.node("Less", "below", {x, whole(w, "zero", {0}, true)});
             const ValueId moved = w.node("Add", "moved", {x, whole(w, "words", {kWords}, true)});
             return gathered(w, w.node("Where", "wrapped", {isBelow, moved, x}));
         },
         {-1, 5, 2, -4, 3},
         {5, 5, 2, 2, 3}},
        {"shifted and clamped",
         [](Writer& w, ValueId x) {
             const ValueId shifted = w.node("Add", "shifted", {x, whole(w, "one", {1}, true)});
             const ValueId low = w.node("Max", "low", {shifted, whole(w, "least", {0}, true)});
             return gathered(w, w.node("Min", "clamped", {low, whole(w, "most", {kWords - 1}, true)}));
         },
         {-7, 4, 1, 1, 9},
         {0, 5, 2, 2, 5}},
        {"cast, turned and turned back",
         [](Writer& w, ValueId x) {
             const ValueId small = w.node("Cast", "small", {x}, {{"to", std::int64_t{6}}});
             const ValueId turned = w.node("Transpose", "turned", {small}, {{"perm", Ints{1, 0}}});
             const ValueId flat = w.node("Reshape", "flat", {turned, whole(w, "shape", {1, kTokens})});
             return gathered(w, flat);
         },
         usual, usual},
        {"mapped by a table of numbers",
         [](Writer& w, ValueId x) {
             const ValueId other = w.node("Gather", "other", {whole(w, "map", {3, 2, 1, 0, 5, 4}), x});
             return gathered(w, other);
         },
         usual,
         {3, 4, 1, 1, 0}},
        {"Equal, Cast, MatMul",
         [](Writer& w, ValueId x) {
             return oneHotProduct(w, columnOf(w, x, -1), whole(w, "iota", {0, 1, 2, 3, 4, 5}));
         },
         usual, usual},
        {"Equal of numbers from 2 on",
         [](Writer& w, ValueId x) {
             return oneHotProduct(w, columnOf(w, x, 2), whole(w, "iota", {2, 3, 4, 5, 6, 7}));
         },
         {2, 7, 4, 4, 1},
         {0, 5, 2, 2, -1}},
        {"Equal of a column that a Reshape makes, and numbers below 0",
         [](Writer& w, ValueId x) {
             const ValueId column = w.node("Reshape", "column", {x, whole(w, "shape", {1, kTokens, 1})});
             return oneHotProduct(w, column, whole(w, "iota", {0, 1, 2, 3, 4, 5}));
         },
         {0, -1, 2, 2, 6},
         {0, -1, 2, 2, -1}},
        {"Where(Equal, 1, 0)",
         [](Writer& w, ValueId x) {
             const ValueId iota = whole(w, "iota", {0, 1, 2, 3, 4, 5});
             const ValueId equal = w.node("Equal", "equal", {iota, columnOf(w, x, -1)});
             const ValueId on = w.constant("on", Tensor::full(DType::Float32, {}, 1));
             const ValueId off = w.constant("off", Tensor::full(DType::Float32, {}, 0));
             return w.node("MatMul", "rows", {w.node("Where", "hot", {equal, on, off}), table(w)});
         },
         usual, usual},
        {"OneHot",
         [](Writer& w, ValueId x) {
             const ValueId values = w.constant("values", Tensor::of<float>({2}, std::vector<float>{0, 1}));
             const ValueId hot = w.node("OneHot", "hot", {x, whole(w, "depth", {kWords}, true), values});
             return w.node("MatMul", "rows", {hot, table(w)});
         },
         {0, -1, 2, 2, 6},
         {0, 5, 2, 2, -1}},
        {"OneHot in an Einsum",
         [](Writer& w, ValueId x) {
             const ValueId values = w.constant("values", Tensor::of<float>({2}, std::vector<float>{0, 1}));
             const ValueId hot = w.node("OneHot", "hot", {x, whole(w, "depth", {kWords}, true), values});
             return w.node("Einsum", "rows", {hot, table(w)}, {{"equation", std::string("bnv, vd -> bnd")}});
         },
         usual, usual},
        {"GatherND by one index at each place",
         [](Writer& w, ValueId x) {
             return w.node("GatherND", "rows", {table(w), columnOf(w, x, -1)});
         },
         {0, -1, 2, 2, -6},
         {0, 5, 2, 2, 0}},
        {"through floats that are rounded",
         [](Writer& w, ValueId x) {
             const ValueId more = w.node("Add", "more", {x, whole(w, "one", {1}, true)});
             const ValueId floats = w.node("Cast", "floats", {more}, {{"to", std::int64_t{1}}});
             const ValueId rounded = w.node("Round", "rounded", {w.node("Floor", "floor", {floats})});
             return gathered(w, w.node("Cast", "whole", {rounded}, {{"to", std::int64_t{7}}}));
         },
         {-1, 4, 1, 1, 2},
         usual},
        {"rows of an identity matrix",
         [](Writer& w, ValueId x) {
             std::vector<float> eye(kWords * kWords, 0);
             for (std::size_t i = 0; i < kWords; ++i) {
                 eye[i * kWords + i] = 1;
             }
             const ValueId hot =
                 w.node("Gather", "hot", {w.constant("eye", Tensor::of<float>({kWords, kWords}, eye)), x});
             return w.node("MatMul", "rows", {hot, table(w)});
         },
         usual, usual},
        {"a sum of products",
         [](Writer& w, ValueId x) {
             const ValueId equal = w.node("Equal", "equal", {columnOf(w, x, -1), whole(w, "iota", {0, 1, 2, 3, 4, 5})});
             const ValueId hot = w.node("Cast", "hot", {equal}, {{"to", std::int64_t{1}}});
             const ValueId wide = w.node("Unsqueeze", "wide", {hot, whole(w, "lastAxis", {-1})});
             return summed(w, w.node("Mul", "products", {table(w), wide}));
         },
         {0, -1, 2, 2, 6},
         {0, -1, 2, 2, -1}},
        {"a sum of products, with an axis behind the columns",
         [](Writer& w, ValueId x) {
             const ValueId column = w.node("Reshape", "column", {x, whole(w, "shape", {1, kTokens, 1, 1})});
             const ValueId iota =
                 w.constant("iota", Tensor::of<std::int64_t>({kWords, 1}, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
             const ValueId equal = w.node("Equal", "equal", {column, iota});
             const ValueId hot = w.node("Cast", "hot", {equal}, {{"to", std::int64_t{1}}});
             return summed(w, w.node("Mul", "products", {hot, table(w)}));
         },
         usual, usual},
        {"a sum of chosen rows",
         [](Writer& w, ValueId x) {
             const ValueId equal = w.node("Equal", "equal", {columnOf(w, x, -1), whole(w, "iota", {0, 1, 2, 3, 4, 5})});
             const ValueId wide = w.node("Unsqueeze", "wide", {equal, whole(w, "lastAxis", {-1})});
             const ValueId off = w.constant("off", Tensor::full(DType::Float32, {}, 0));
             return summed(w, w.node("Where", "chosen", {wide, table(w), off}));
         },
         usual, usual},
        {"OneHot in rows of a Gemm",
         [](Writer& w, ValueId x) {
             const ValueId values = w.constant("values", Tensor::of<float>({2}, std::vector<float>{0, 1}));
             const ValueId hot = w.node("OneHot", "hot", {x, whole(w, "depth", {kWords}, true), values});
             const ValueId flat = w.node("Reshape", "flat", {hot, whole(w, "rowsOf", {-1, kWords})});
             const ValueId turned = w.node("Transpose", "turned", {table(w)}, {{"perm", Ints{1, 0}}});
             const ValueId rows = w.node("Gemm", "rows", {flat, turned}, {{"transB", std::int64_t{1}}});
             return w.node("Reshape", "back", {rows, whole(w, "backTo", {1, kTokens, kWidth})});
         },
         usual, usual},
    };
}

/// The same rows by a Gather of a table with a row of zeros behind the last word.
SharedGraph reference(bool hasZeros)
{
    return modelWith([hasZeros](Writer& writer, ValueId tokens) {
        std::vector<float> rows;
        const Tensor drawn = randomTensor({kWords, kWidth}, 3);
        for (std::int64_t i = 0; i < drawn.size() + (hasZeros ? kWidth : 0); ++i) {
            rows.push_back(i < drawn.size() ? static_cast<float>(drawn.at(i)) : 0);
        }
        const std::int64_t count = kWords + (hasZeros ? 1 : 0);
        return writer.node("Gather", "rows",
                           {writer.constant("table", Tensor::of<float>({count, kWidth}, rows)), tokens});
    });
}

/// Rows (1 × tokens × words) → Conv or a recurrent layer → mean → three classes.
SharedGraph layered(const std::string& layer, const std::function<ValueId(Writer&, ValueId)>& rows, bool areTurned)
{
    Writer writer;
    ValueId x = rows(writer, writer.integers("tokens", kShape));
    const bool isConv = layer == "Conv";
    if (isConv && !areTurned) {
        x = writer.node("Transpose", "channels", {x}, {{"perm", Ints{0, 2, 1}}});
    } else if (!isConv) {
        x = writer.node("Transpose", "steps", {x}, {{"perm", areTurned ? Ints{2, 0, 1} : Ints{1, 0, 2}}});
    }
    if (isConv) {
        x = writer.node("Conv", "layer", {x, writer.constant("kernel", randomTensor({kWidth, kWords, 3}, 3))});
        x = writer.node("Transpose", "back", {x}, {{"perm", Ints{0, 2, 1}}});
    } else {
        const std::int64_t gates = (layer == "LSTM" ? 4 : 3) * kWidth;
        x = writer.node(layer, "layer",
                        {x, writer.constant("w", randomTensor({1, gates, kWords}, 5)),
                         writer.constant("r", randomTensor({1, gates, kWidth}, 6))},
                        {{"hidden_size", kWidth}});
        x = writer.node("Squeeze", "direction", {x, whole(writer, "directions", {1})});
        x = writer.node("Transpose", "back", {x}, {{"perm", Ints{1, 0, 2}}});
    }
    return finished(writer, x);
}

Tensor identity(std::int64_t rows)
{
    std::vector<float> eye(static_cast<std::size_t>(rows * kWords), 0);
    for (std::int64_t i = 0; i < kWords; ++i) {
        eye[static_cast<std::size_t>(i * (kWords + 1))] = 1;
    }
    return Tensor::of<float>({rows, kWords}, eye);
}

/// One-hot rows that layers read as they are; whether words come before the tokens.
struct HotRows
{
    const char* name;
    std::function<ValueId(Writer&, ValueId)> rows;
    bool areTurned = false;
};

std::vector<HotRows> hotRows()
{
    const Ints all{0, 1, 2, 3, 4, 5};
    const auto cast = [](Writer& w, ValueId equal) {
        return w.node("Cast", "hot", {equal}, {{"to", std::int64_t{1}}});
    };
    const auto choice = [](Writer& w) {
        return w.constant("values", Tensor::of<float>({2}, std::vector<float>{0, 1}));
    };
    return {{"Equal along the last axis",
             [=](Writer& w, ValueId x) {
                 return cast(w, w.node("Equal", "equal", {columnOf(w, x, -1), whole(w, "iota", all)}));
             }},
            {"Equal along channels",
             [=](Writer& w, ValueId x) {
                 const ValueId iota = w.constant("iota", Tensor::of<std::int64_t>({1, kWords, 1}, all));
                 return cast(w, w.node("Equal", "equal", {columnOf(w, x, 1), iota}));
             },
             true},
            {"OneHot",
             [=](Writer& w, ValueId x) {
                 return w.node("OneHot", "hot", {x, whole(w, "depth", {kWords}, true), choice(w)});
             }},
            {"OneHot along channels",
             [=](Writer& w, ValueId x) {
                 return w.node("OneHot", "hot", {x, whole(w, "depth", {kWords}, true), choice(w)},
                               {{"axis", std::int64_t{1}}});
             },
             true}};
}

} // namespace

class TokenLookupTest : public QObject
{
    Q_OBJECT
private slots:
    void everyLookUpGivesWhatAGatherGives()
    {
        for (const Lookup& one : lookups()) {
            Ints plain = one.plain;
            const bool hasZeros = std::ranges::find(plain, -1) != plain.end();
            std::ranges::replace(plain, std::int64_t{-1}, kWords);
            for (const char* const composite : {"epsilon", "epsilon_plus", "gradient"}) {
                const auto expected = explained(reference(hasZeros), plain, composite);
                const auto found = explained(modelWith(one.rows), one.tokens, composite);
                const std::string where = std::string(one.name) + ", " + composite;
                QVERIFY2(relevanceOf(found).isValid() && relevanceOf(expected).isValid(), where.c_str());
                QVERIFY2(rewrite::testing::deviation(found.outputs[0], expected.outputs[0]) < 1e-12, where.c_str());
                QVERIFY2(rewrite::testing::deviation(relevanceOf(found), relevanceOf(expected)) < 1e-9, where.c_str());
            }
        }
    }

    void layersThatReadOneHotRowsGiveANumberPerToken()
    {
        const Ints tokens{0, 5, 2, -1, 9}; // two beside the words: rows of zeros, but −1 of OneHot is the last word
        for (const HotRows& hot : hotRows()) {
            Ints plain{0, 5, 2, std::string_view(hot.name).starts_with("OneHot") ? 5 : kWords, kWords};
            for (const char* const layer : {"Conv", "LSTM", "GRU"}) {
                const auto reference = layered(
                    layer,
                    [](Writer& w, ValueId x) {
                        return w.node("Gather", "hot", {w.constant("eye", identity(kWords + 1)), x});
                    },
                    false);
                for (const char* const composite : {"epsilon", "epsilon_plus", "gradient"}) {
                    const auto found = explained(layered(layer, hot.rows, hot.areTurned), tokens, composite);
                    const auto expected = explained(reference, plain, composite);
                    const std::string where = fmt::format("{}, {}, {}", hot.name, layer, composite);
                    QVERIFY2(relevanceOf(found).isValid() && relevanceOf(expected).isValid(), where.c_str());
                    QVERIFY2(rewrite::testing::deviation(found.outputs[0], expected.outputs[0]) < 1e-12, where.c_str());
                    QVERIFY2(rewrite::testing::deviation(relevanceOf(found), relevanceOf(expected)) < 1e-9,
                             where.c_str());
                }
            }
        }
    }

    /// On 2^40 ways to a layer; each node is looked at once.
    void rowsOnManyWaysAreFollowedOnce()
    {
        Writer writer;
        const ValueId values = writer.constant("values", Tensor::of<float>({2}, std::vector<float>{0, 1}));
        const ValueId begin = whole(writer, "begin", {0});
        const ValueId end = whole(writer, "end", {1});
        ValueId rows = writer.node("OneHot", "hot",
                                   {writer.integers("x", {1, 3}), whole(writer, "depth", {kWords}, true), values});
        for (int i = 0; i < 40; ++i) {
            const ValueId both =
                writer.node("Concat", fmt::format("both{}", i), {rows, rows}, {{"axis", std::int64_t{0}}});
            rows = writer.node("Slice", fmt::format("first{}", i), {both, begin, end, begin});
        }
        writer.output(writer.node("MatMul", "rows", {rows, table(writer)}));
        const auto model = modelOf(writer.finish());
        QVERIFY(std::ranges::any_of(model->rewritten.steps,
                                    [](const auto& step) { return step.name == "look-up-one-hot"; }));
    }

    void rowsThatAreNoTokensStay()
    {
        Writer writer; // they choose rows that are computed
        const ValueId x = writer.input("x", {kWords, kWidth});
        const ValueId place = writer.integers("place", {1, 1});
        const ValueId equal = writer.node("Equal", "equal", {place, whole(writer, "iota", {0, 1, 2, 3, 4, 5})});
        const ValueId hot = writer.node("Cast", "hot", {equal}, {{"to", std::int64_t{1}}});
        writer.output(writer.node("MatMul", "chosen", {hot, x}));
        const auto model = modelOf(writer.finish());
        QVERIFY(std::ranges::none_of(model->rewritten.steps,
                                     [](const auto& step) { return step.name == "look-up-one-hot"; }));
    }

    void everyLookUpIsCheckedAgainstTheGraphBeforeIt()
    {
        std::vector<SharedGraph> graphs;
        for (const Lookup& one : lookups()) {
            graphs.push_back(modelWith(one.rows));
        }
        for (const HotRows& hot : hotRows()) {
            graphs.push_back(layered("Conv", hot.rows, hot.areTurned));
        }
        int checked = 0;
        for (const SharedGraph& graph : graphs) {
            const auto model = modelOf(graph);
            const auto results =
                engine::checkRewrites(*model, {Tensor::of<std::int64_t>(kShape, Ints{0, 5, 2, 2, 3})}, {}, 1, {});
            QVERIFY2(results.ok(), results.ok() ? "" : results.error().text().c_str());
            for (const engine::PropertyResult& one : *results) {
                QVERIFY2(one.state == engine::PropertyState::Held, (one.id + ": " + one.detail).c_str());
                checked += one.id == "look-up-one-hot" ? 1 : 0;
                QVERIFY2(one.id != "look-up-one-hot" || !one.detail.starts_with("0 values"), one.detail.c_str());
            }
        }
        QCOMPARE(checked, 16);
    }

    void aTokenGetsTheSumOfWhatItChose()
    {
        const auto twice = [](Writer& writer, ValueId tokens) {
            const ValueId first =
                writer.node("Slice", "first",
                            {tokens, whole(writer, "from", {0}), whole(writer, "to", {2}), whole(writer, "axis", {1})});
            const ValueId start = writer.constant("start", Tensor::of<std::int64_t>({1, 1}, Ints{4}));
            const ValueId all = writer.node("Concat", "all", {start, tokens, first}, {{"axis", std::int64_t{1}}});
            return gathered(writer, all);
        };
        const auto found = explained(modelWith(twice), {0, 5, 2, 2, 3}, "epsilon");
        const Tensor relevance = relevanceOf(found);
        QVERIFY(relevance.isValid());
        QCOMPARE(relevance.shape(), kShape);
        double sum = 0;
        for (std::int64_t i = 0; i < relevance.size(); ++i) {
            sum += relevance.at(i);
        }
        const base::ValueId rows = *found.model->graph().findValue("rows_out");
        const Tensor arrived = found.relevance[rows.index()];
        double all = 0;
        double ofStart = 0;
        for (std::int64_t i = 0; i < arrived.size(); ++i) {
            all += arrived.at(i);
            ofStart += i < kWidth ? arrived.at(i) : 0;
        }
        QVERIFY(std::abs(sum - (all - ofStart)) < 1e-9 * std::abs(all)); // the constant token has no place
    }

    /// Inputs of a folder, numbered by another tokenizer than that of the model.
    void aFolderShowsOtherNumbersOfTokens()
    {
        const QTemporaryDir folder;
        const auto graph = modelOfMany();
        const auto model = modelOf(graph);
        engine::LabelledInputs inputs;
        for (std::int64_t i = 0; i < 12; ++i) {
            const Ints tokens{i, (5 * i) % 19, (7 * i + 3) % 19, 18 - i, (11 * i) % 19};
            Ints meant = tokens;
            std::ranges::for_each(meant, [](std::int64_t& token) { ++token; });
            const std::string file = folder.filePath(QString::number(i) + ".npy").toStdString();
            QVERIFY(tensor::writeNpy(file, Tensor::of<std::int64_t>(kShape, tokens)).ok());
            const Tensor scores = explained(graph, meant, "epsilon").outputs.front();
            inputs.items.push_back({std::to_string(i), {file}, file});
            inputs.truth.push_back(scores.at(0) > scores.at(1) ? (scores.at(0) > scores.at(2) ? 0 : 2)
                                                               : (scores.at(1) > scores.at(2) ? 1 : 2));
        }
        const auto all = engine::populationOf(model, engine::Question(), inputs);
        QVERIFY2(all.ok(), all.ok() ? "" : all.error().text().c_str());
        QCOMPARE((*all)->otherwise.size(), std::size_t{6});
        QVERIFY((*all)->asGiven.right(inputs.truth) < 12);
        for (const diagnosis::Answers& one : (*all)->otherwise) {
            QCOMPARE(one.right(inputs.truth) == 12, one.words == "+1 to every number of \"tokens\"");
        }
    }

    /// Texts of a folder, and the right tokenizer one folder below that of the model.
    void aFolderOfTextsShowsAnotherTokenizer()
    {
        const QTemporaryDir folder;
        const auto write = [&folder](const QString& name, const std::string& text) {
            const std::filesystem::path file = folder.filePath(name).toStdString();
            std::filesystem::create_directories(file.parent_path());
            return base::writeFile(file, text).ok() ? file.string() : std::string();
        };
        const auto tokenizer = [](int moved) {
            std::string words;
            for (int i = 0; i < 20; ++i) {
                words += (i == 0 ? "\"w" : ",\"w") + std::to_string(i) + "\":" + std::to_string((i * moved) % 20);
            }
            return R"({"model":{"type":"WordLevel","unk_token":"w0","vocab":{)" + words +
                   R"(}},"pre_tokenizer":{"type":"WhitespaceSplit"}})";
        };
        QVERIFY(!write("tokenizer.json", tokenizer(7)).empty());
        QVERIFY(!write("base/tokenizer.json", tokenizer(1)).empty());
        QVERIFY(!write("config.json", "{}").empty());
        const auto graph = modelOfMany();
        auto model = std::make_shared<engine::LoadedModel>(*modelOf(graph));
        model->path = folder.filePath("model.onnx").toStdString();
        engine::LabelledInputs inputs;
        for (std::int64_t i = 0; i < 12; ++i) {
            const Ints tokens{i, (5 * i) % 19, (7 * i + 3) % 19, 18 - i, (11 * i) % 19};
            std::string text;
            std::ranges::for_each(tokens, [&text](std::int64_t token) { text += "w" + std::to_string(token) + " "; });
            const std::string file = write("texts/" + QString::number(i) + ".txt", text);
            const Tensor scores = explained(graph, tokens, "epsilon").outputs.front();
            inputs.items.push_back({std::to_string(i), {file}, file});
            inputs.truth.push_back(scores.at(0) > scores.at(1) ? (scores.at(0) > scores.at(2) ? 0 : 2)
                                                               : (scores.at(1) > scores.at(2) ? 1 : 2));
        }
        RETRO_MADE(found, engine::findBatch({folder.filePath("texts").toStdString()}, *graph));
        QCOMPARE((*found)->size(), std::size_t{12});
        RETRO_MADE(all, engine::populationOf(model, engine::Question(), inputs));
        QVERIFY((*all)->asGiven.right(inputs.truth) < 12);
        std::size_t others = 0;
        for (const diagnosis::Answers& one : (*all)->otherwise) {
            const bool isOther = one.option.starts_with("--tokenizer ");
            others += isOther ? 1 : 0;
            QCOMPARE(one.right(inputs.truth) == 12, isOther);
        }
        QCOMPARE(others, std::size_t{1});
    }

    void indicesOfSeveralTokensAreNone()
    {
        const auto counted = [](Writer& writer, ValueId tokens) { // places of words, as RoBERTa counts them
            const ValueId isWord = writer.node(
                "Not", "isWord", {writer.node("Equal", "isPad", {tokens, whole(writer, "pad", {1}, true)})});
            const ValueId ones = writer.node("Cast", "ones", {isWord}, {{"to", std::int64_t{7}}});
            const ValueId sum = writer.node("CumSum", "sum", {ones, whole(writer, "axis", {1}, true)});
            const ValueId places = writer.node("Mul", "places", {sum, ones});
            const ValueId positions = writer.constant("positions", randomTensor({kWords, kWidth}, 9));
            const ValueId at = writer.node("Gather", "at", {positions, places});
            return writer.node("Add", "both", {gathered(writer, tokens), at});
        };
        const auto found = explained(modelWith(counted), {0, 5, 2, 2, 3}, "epsilon");
        QVERIFY(found.model);
        std::size_t looked = 0;
        for (std::size_t i = 0; i < found.model->graph().nodeCount(); ++i) {
            const auto* const tokens = found.model->tokensAt(base::NodeId(i), 1);
            looked += tokens != nullptr ? 1 : 0;
            QVERIFY(tokens == nullptr || found.model->graph().node(base::NodeId(i)).name == "rows");
        }
        QCOMPARE(looked, std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TokenLookupTest)
#include "tokenlookuptest.moc"
