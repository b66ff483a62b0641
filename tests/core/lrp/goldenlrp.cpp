// SPDX-License-Identifier: Apache-2.0
// Relevance of whole models against stored vectors, in both precisions, by the promise engine (saving what a gradient
// reads, and saving everything) and by the oracle, which must agree bit for bit. Reads every case of
// $RETROGRADE_GOLDEN/lrp, else of tests/data/golden/lrp; prints one line per failing case; fails when there is none.
#include "core/base/file.h"
#include "core/base/result.h"
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/rules.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/traversal.h"
#include "core/rewrite/rewrite.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace retro::lrptest
{

using lrp::CompositeEntry;
using lrp::LinearOptions;
using lrp::Matcher;
using lrp::RulePointer;
using nlohmann::json;
using ops::StructureKind;

namespace
{

// ["gamma", 0.25]: the rule and its numbers.
base::Result<RulePointer> weightRule(const json& words, LinearOptions options, const std::string& field)
{
    const std::string name = words.at(0).get<std::string>();
    const auto number = [&words](std::size_t i) { return words.at(i).get<double>(); };
    if (name == "epsilon") {
        options.stabiliser.epsilon = number(1);
        return lrp::epsilonRule(options);
    }
    if (name == "gamma") {
        return lrp::gammaRule(number(1), options);
    }
    if (name == "alphabeta") {
        return lrp::alphaBetaRule(number(1), number(2), options);
    }
    if (name == "gradient") {
        return lrp::gradientRule();
    }
    if (name == "flat") {
        return lrp::flatRule();
    }
    if (name == "wsquare") {
        return lrp::wSquareRule(options);
    }
    if (name == "zbox") {
        return lrp::zBoxRule(number(1), number(2));
    }
    return base::inputError("there is no rule " + name, field);
}

CompositeEntry entry(StructureKind structure, RulePointer rule, std::vector<std::string> operators = {})
{
    Matcher matcher;
    matcher.structure = structure;
    matcher.ops = std::move(operators);
    return {std::move(matcher), std::move(rule)};
}

base::Result<CompositeEntry> firstLayer(const json& spec, const LinearOptions& options)
{
    RETRO_TRY(RulePointer rule, weightRule(spec.at("first"), options, "first"));
    Matcher matcher;
    matcher.firstWeight = true;
    matcher.ops = spec.value("first_ops", std::vector<std::string>{"Conv", "ConvTranspose", "Gemm", "MatMul"});
    return CompositeEntry{std::move(matcher), std::move(rule)};
}

// What the word means on ReLU; null: there is no such word.
RulePointer onRelu(const json& spec, const std::string& word)
{
    if (word == "pass") {
        return lrp::passRule();
    }
    if (word == "grad") {
        return lrp::gradientRule();
    }
    if (word == "guided") {
        return lrp::guidedBackpropRule();
    }
    if (word == "deconv") {
        return lrp::deconvNetRule();
    }
    return word == "beta" ? lrp::betaSmoothRule(spec.value("beta", 10.0)) : nullptr;
}

base::Result<void> addWeights(const json& spec, lrp::Composite& composite)
{
    LinearOptions options;
    options.bias = spec.value("zero_bias", false) ? lrp::BiasPolicy::Zero : lrp::BiasPolicy::Absorb;
    if (spec.contains("first")) {
        RETRO_TRY(CompositeEntry first, firstLayer(spec, options));
        composite.entries.push_back(std::move(first));
    }
    RETRO_TRY(RulePointer conv, weightRule(spec.at("conv"), options, "conv"));
    RETRO_TRY(RulePointer dense, weightRule(spec.at("dense"), options, "dense"));
    composite.entries.push_back(entry(StructureKind::LinearMap, std::move(conv), {"Conv", "ConvTranspose"}));
    composite.entries.push_back(entry(StructureKind::LinearMap, std::move(dense)));
    return {};
}

base::Result<void> addActivations(const json& spec, lrp::Composite& composite)
{
    const std::string word = spec.value("act", "pass");
    const RulePointer relu = onRelu(spec, word);
    if (relu == nullptr) {
        return base::inputError("there is no activation rule " + word, "act");
    }
    composite.entries.push_back(entry(StructureKind::ElementWise, relu, {"Relu"}));
    composite.entries.push_back(
        entry(StructureKind::ElementWise, word == "pass" ? lrp::passRule() : lrp::gradientRule()));
    return {};
}

base::Result<void> addSums(const json& spec, lrp::Composite& composite)
{
    const std::string word = spec.value("norm", "norm");
    if (word != "norm" && word != "grad") {
        return base::inputError("there is no norm rule " + word, "norm");
    }
    const RulePointer rule = word == "grad" ? lrp::gradientRule() : lrp::normRule();
    for (const StructureKind kind :
         {StructureKind::SumOfOperands, StructureKind::Reduction, StructureKind::AveragePool}) {
        composite.entries.push_back(entry(kind, rule));
    }
    return {};
}

/// The composite that the `spec` of a golden relevance case describes. Errors (Input) name the field.
base::Result<lrp::Composite> compositeOfSpec(const json& spec)
{
    lrp::Composite composite;
    composite.name = "spec " + spec.dump();
    try {
        RETRO_CHECK(addWeights(spec, composite));
        RETRO_CHECK(addActivations(spec, composite));
        RETRO_CHECK(addSums(spec, composite));
    } catch (const json::exception& error) {
        return base::inputError(error.what(), "spec");
    }
    composite.entries.push_back(entry(StructureKind::MaxPool, lrp::winnerRule()));
    composite.entries.push_back(entry(StructureKind::Normalisation, lrp::passRule()));
    composite.entries.push_back(entry(StructureKind::ShapeMap, lrp::passRule()));
    return composite;
}

using execute::BoundModel;
using execute::Precision;
using execute::SavePolicy;
using lrp::RelevanceTable;
using nlohmann::json;
using tensor::Tensor;
namespace fs = std::filesystem;

constexpr std::uint64_t kMaxJsonBytes = 64ULL << 20;

/// One rule folder of one model.
struct Case
{
    std::string name; // "mlp/gamma_0.25"
    fs::path model;   // folder of model.json
    fs::path rule;    // folder of meta.json
};

base::Result<json> readJson(const fs::path& path)
{
    RETRO_TRY(const std::string text, base::readTextFile(path, kMaxJsonBytes));
    json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded()) {
        return base::inputError("not valid JSON", path.string());
    }
    return parsed;
}

std::vector<fs::path> foldersIn(const fs::path& folder)
{
    std::vector<fs::path> result;
    std::error_code failure;
    for (const fs::directory_entry& item : fs::directory_iterator(folder, failure)) {
        if (item.is_directory()) {
            result.push_back(item.path());
        }
    }
    std::sort(result.begin(), result.end());
    return result;
}

std::vector<Case> casesIn(const fs::path& root)
{
    std::vector<Case> cases;
    for (const fs::path& model : foldersIn(root)) {
        for (const fs::path& rule : foldersIn(model)) {
            if (fs::exists(rule / "meta.json")) {
                cases.push_back({(model.filename() / rule.filename()).string(), model, rule});
            }
        }
    }
    return cases;
}

/// A model with everything that one precision of one case needs.
struct Prepared
{
    std::shared_ptr<const BoundModel> model;
    std::vector<Tensor> inputs;
    graph::ValueId target;
    lrp::RuleAssignment rules;
    std::optional<lrp::TraversalGraph> graph;
    Tensor start;
};

base::Result<Tensor> startRelevance(const json& meta, const Tensor& output)
{
    const auto target = meta.at("target").get<std::int64_t>();
    if (output.rank() != 2 || target < 0 || target >= output.shape()[1]) {
        return base::inputError("the output has no element [0, target]", tensor::toText(output.shape()));
    }
    std::vector<double> values(static_cast<std::size_t>(output.size()), 0);
    values[static_cast<std::size_t>(target)] = meta.at("init") == "one" ? 1 : output.at(target);
    return Tensor::of<double>(output.shape(), values).to(output.dtype());
}

base::Result<lrp::Composite> compositeOf(const json& meta, const BoundModel& model)
{
    if (meta.contains("spec")) {
        return compositeOfSpec(meta.at("spec"));
    }
    const std::string name = meta.at("rule").get<std::string>().rfind("attnlrp", 0) == 0 ? "attnlrp" : "cp_lrp";
    return lrp::builtinComposite(fmt::format("{}:epsilon={}", name, meta.value("stabiliser", 1e-6)), model);
}

base::Result<std::shared_ptr<const BoundModel>> bindModel(const Case& one, const json& meta, const Tensor& input,
                                                          Precision precision)
{
    RETRO_TRY(const auto plain, formats::readOnnx(one.model / meta.value("model", "model.onnx")));
    // The vectors are relevance on the graph after these rewrites; the others would hide values that are compared.
    rewrite::RewriteOptions rewrites = rewrite::noRewrites();
    rewrites.foldConstants = rewrites.mergeBatchNorm = rewrites.fuseActivations = true;
    RETRO_TRY(const rewrite::Rewritten rewritten, rewrite::rewrite(plain, rewrites));
    const std::vector<ops::TensorType> types{{input.dtype(), input.shape()}};
    return BoundModel::bind(rewritten.graph, types, precision);
}

base::Result<Prepared> prepare(const Case& one, const json& meta, Precision precision)
{
    RETRO_TRY(const json description, readJson(one.model / "model.json"));
    RETRO_TRY(const Tensor stored, tensor::readNpy(one.model / "input.npy"));
    Prepared prepared;
    RETRO_TRY(prepared.model, bindModel(one, meta, stored, precision));
    const bool isFloating = tensor::isFloating(stored.dtype());
    prepared.inputs = {isFloating ? stored.to(execute::dtypeOf(precision)) : stored};
    const auto target = prepared.model->graph().findValue(description.at("output").get<std::string>());
    if (!target) {
        return base::inputError("the graph has no output of the name in model.json");
    }
    prepared.target = *target;
    RETRO_TRY(const lrp::Composite composite, compositeOf(meta, *prepared.model));
    RETRO_TRY(prepared.rules, lrp::assignRules(composite, *prepared.model));
    RETRO_TRY(prepared.graph, lrp::TraversalGraph::build(*prepared.model, prepared.target));
    return prepared;
}

base::Result<RelevanceTable> byPromises(const Prepared& prepared, const execute::SavedValues& saved)
{
    event::NullSink sink;
    lrp::TensorArithmetic arithmetic(saved, prepared.rules, *prepared.graph, sink, true);
    lrp::Traversal traversal(*prepared.graph, arithmetic, sink, arithmetic.adopt(prepared.start));
    while (!traversal.finished()) {
        RETRO_CHECK(traversal.step());
    }
    RelevanceTable table(prepared.graph->size());
    for (const graph::NodeId node : prepared.graph->postOrder()) {
        for (std::uint32_t k = 0; k < prepared.graph->outputCount(node); ++k) {
            const base::HandleId handle = traversal.relevance(node, k);
            table[node.index()].push_back(handle.isValid() ? arithmetic.tensor(handle) : Tensor());
        }
    }
    return table;
}

bool same(const Tensor& a, const Tensor& b) { return a.isValid() ? b.isValid() && a.bitEqual(b) : !b.isValid(); }

base::Result<void> expectSame(const Prepared& prepared, const RelevanceTable& a, const RelevanceTable& b,
                              const char* what)
{
    for (const graph::NodeId node : prepared.graph->postOrder()) {
        for (std::size_t k = 0; k < a[node.index()].size(); ++k) {
            if (!same(a[node.index()][k], b[node.index()][k])) {
                return base::inputError(fmt::format("{} differ in their bits at node {}, output {}", what,
                                                    prepared.model->graph().labelOf(node), k));
            }
        }
    }
    return {};
}

// max|a − b| and max|b|.
std::pair<double, double> deviation(const Tensor& a, const Tensor& b)
{
    double largest = 0;
    double scale = 0;
    for (std::int64_t i = 0; i < b.size(); ++i) {
        const double gap = std::abs((a.isValid() ? a.at(i) : 0) - b.at(i));
        largest = gap <= largest ? largest : gap; // NaN is carried on
        scale = std::max(scale, std::abs(b.at(i)));
    }
    return {largest, scale};
}

base::Result<void> compareTensors(const Case& one, const json& meta, const Prepared& prepared,
                                  const RelevanceTable& table, double tolerance)
{
    const graph::Graph& graph = prepared.model->graph();
    for (const auto& [name, entry] : meta.at("tensors").items()) {
        const auto value = graph.findValue(name);
        if (!value || !graph.nodeOf(*value).isValid()) {
            return base::inputError("the graph has no such value", name);
        }
        RETRO_TRY(const Tensor expected, tensor::readNpy(one.rule / entry.at("file").get<std::string>()));
        const std::vector<Tensor>& outputs = table[graph.nodeOf(*value).index()];
        const std::size_t k = graph.value(*value).producerOutput;
        const Tensor got = k < outputs.size() ? outputs[k] : Tensor();
        if (got.isValid() && got.shape() != expected.shape()) {
            return base::inputError("has the shape " + tensor::toText(got.shape()), name);
        }
        const auto [largest, scale] = deviation(got, expected);
        if (!(largest <= tolerance * scale)) {
            return base::inputError(fmt::format("deviates by {:.2e} of {:.2e}", largest, scale), name);
        }
    }
    return {};
}

base::Result<void> checkLedger(const std::vector<event::LedgerEntry>& ledger, const Prepared& prepared,
                               double tolerance)
{
    for (const event::LedgerEntry& row : ledger) {
        if (!(std::abs(row.unexplained()) <= tolerance * row.magnitude)) {
            return base::inputError(fmt::format("the ledger of node {} leaves {:.2e} of {:.2e} unexplained",
                                                prepared.model->graph().labelOf(graph::NodeId(row.node)),
                                                row.unexplained(), row.magnitude));
        }
    }
    return {};
}

base::Result<void> runCase(const Case& one, const json& meta, Precision precision)
{
    RETRO_TRY(Prepared prepared, prepare(one, meta, precision));
    RETRO_TRY(const auto little, execute::forward(prepared.model, prepared.inputs, SavePolicy::Autograd));
    RETRO_TRY(const auto everything, execute::forward(prepared.model, prepared.inputs, SavePolicy::All));
    RETRO_TRY(prepared.start, startRelevance(meta, everything.saved.anyValue(prepared.target)));
    std::vector<event::LedgerEntry> ledger;
    RETRO_TRY(const RelevanceTable oracle,
              lrp::oracle(everything.saved, prepared.rules, *prepared.graph, prepared.start, {}, &ledger));
    RETRO_TRY(const RelevanceTable promised, byPromises(prepared, little.saved));
    RETRO_TRY(const RelevanceTable kept, byPromises(prepared, everything.saved));
    RETRO_CHECK(expectSame(prepared, promised, oracle, "promise engine and oracle"));
    RETRO_CHECK(expectSame(prepared, kept, oracle, "policy all and oracle"));
    const bool isDouble = precision == Precision::Double;
    RETRO_CHECK(checkLedger(ledger, prepared, isDouble ? 1e-9 : 1e-3));
    return compareTensors(one, meta, prepared, oracle, meta.at("tolerance").at(isDouble ? "double" : "float"));
}

// First thing that is wrong, in words; empty when nothing is.
std::string failureOf(const Case& one)
{
    try {
        const base::Result<json> meta = readJson(one.rule / "meta.json");
        if (!meta.ok()) {
            return meta.error().text();
        }
        for (const Precision precision : {Precision::Double, Precision::Float}) {
            const base::Result<void> result = runCase(one, *meta, precision);
            if (!result.ok()) {
                return fmt::format("{}: {}", precision == Precision::Double ? "double" : "float",
                                   result.error().text());
            }
        }
    } catch (const json::exception& error) {
        return error.what();
    }
    return {};
}

fs::path goldenRoot()
{
    const char* folder = std::getenv("RETROGRADE_GOLDEN");
    return folder != nullptr && *folder != '\0' ? fs::path(folder) / "lrp"
                                                : fs::path(RETRO_SOURCE_DIR) / "tests/data/golden/lrp";
}

} // namespace

int runGolden()
{
    const fs::path root = goldenRoot();
    const std::vector<Case> cases = casesIn(root);
    std::size_t failed = 0;
    for (const Case& one : cases) {
        const std::string failure = failureOf(one);
        if (!failure.empty()) {
            ++failed;
            fmt::print("FAIL {}: {}\n", one.name, failure);
        }
    }
    fmt::print("{} of {} cases passed in {}\n", cases.size() - failed, cases.size(), root.string());
    return cases.empty() || failed > 0 ? 1 : 0;
}

} // namespace retro::lrptest

int main() { return retro::lrptest::runGolden(); }
