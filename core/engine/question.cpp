// SPDX-License-Identifier: Apache-2.0
#include "core/engine/question.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/visibletext.h"
#include "core/engine/inputs.h"
#include "core/engine/prepare.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/ruleoverride.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <chrono>
#include <mutex>

namespace retro::engine
{

namespace fs = std::filesystem;

namespace
{

using base::Hasher;
using nlohmann::ordered_json;

/// Largest start file that is read.
constexpr std::uint64_t kMostStartBytes = 16ULL << 30U;

/// The content hash of the graph that was asked for last: a batch asks once per input, and large models take long.
std::uint64_t contentOf(const std::shared_ptr<const graph::Graph>& graph)
{
    static std::mutex mutex;
    static std::weak_ptr<const graph::Graph> last;
    static std::uint64_t hash = 0;
    const std::lock_guard lock(mutex);
    if (last.lock() != graph) {
        hash = graph::contentHash(*graph);
        last = graph;
    }
    return hash;
}

void add(Hasher& hash, const std::vector<std::string>& texts)
{
    hash.number(texts.size());
    for (const std::string& text : texts) {
        hash.text(text);
    }
}

void add(Hasher& hash, const std::vector<double>& numbers)
{
    hash.number(numbers.size());
    for (const double number : numbers) {
        hash.number(std::bit_cast<std::uint64_t>(number));
    }
}

/// Rules are matched by names and scopes, and files are called after values.
void addNames(Hasher& hash, const graph::Graph& graph)
{
    for (const graph::Value& value : graph.values()) {
        hash.text(value.name);
    }
    for (const graph::Node& node : graph.nodes()) {
        hash.text(node.name);
        hash.text(node.scope);
    }
}

void addModel(Hasher& hash, const LoadedModel& model)
{
    hash.text(model.name);
    hash.number(contentOf(model.rewritten.before));
    hash.number(graph::structuralHash(*model.graph()));
    addNames(hash, *model.rewritten.before);
    addNames(hash, *model.graph());
    add(hash, rewrite::switchedOff(model.rewritten.options));
    add(hash, rewrite::switchedOn(model.rewritten.options));
    hash.number(model.rewritten.options.keepDigits ? 1 : 0);
    hash.number(model.rewritten.options.passThrough ? 1 : 0);
    if (!model.shapes.empty()) {
        add(hash, model.shapes);
    }
    if (model.card) {
        add(hash, model.card->labels);
        add(hash, model.card->vocabulary);
        hash.text(model.card->unknown);
    }
}

void addTarget(Hasher& hash, const TargetRequest& target)
{
    hash.number(static_cast<std::uint64_t>(target.kind));
    hash.number(static_cast<std::uint64_t>(target.classIndex));
    hash.text(target.value);
    hash.number(target.index.size());
    for (const std::int64_t index : target.index) {
        hash.number(static_cast<std::uint64_t>(index));
    }
    for (const TargetRequest::Coordinate& coordinate : target.place) {
        hash.text(coordinate.axis);
        hash.number(static_cast<std::uint64_t>(coordinate.index));
    }
}

/// A file that cannot be read is told apart from every other one; the pass says what is wrong with it.
void addStart(Hasher& hash, const StartRequest& start)
{
    hash.text(nameOf(start));
    if (start.kind == StartKind::Given) {
        const base::Result<std::vector<std::byte>> data = base::readFile(start.file, kMostStartBytes);
        hash.number(data.ok() ? data->size() + 1 : 0);
        hash.bytes(data.ok() ? std::span<const std::byte>(*data) : std::span<const std::byte>());
    }
}

void addComposite(Hasher& hash, const std::string& composite)
{
    hash.text(composite);
    const lrp::Specification named = lrp::splitSpecification(composite);
    if (named.base.ends_with(".json")) {
        const base::Result<std::string> text = base::readTextFile(named.base, kMaxCompositeFileBytes);
        hash.number(text.ok() ? 1 : 0);
        hash.text(text.ok() ? *text : std::string());
    }
}

void addForwarding(Hasher& hash, const std::optional<ForwardingWish>& wish)
{
    hash.number(wish ? 1 : 0);
    if (!wish) {
        return;
    }
    hash.number(static_cast<std::uint64_t>(wish->strategy));
    hash.number(static_cast<std::uint64_t>(wish->budget.value_or(-1)));
    hash.number(wish->choices.size());
    for (const auto& [value, form] : wish->choices) {
        hash.text(value);
        hash.number(static_cast<std::uint64_t>(form));
    }
    hash.number(wish->checkpointEvery ? *wish->checkpointEvery + 1 : 0);
}

void addPreparation(Hasher& hash, const PictureOptions& options)
{
    hash.text(options.layout);
    hash.text(options.channels);
    add(hash, std::vector<double>{options.low, options.high});
    add(hash, options.mean);
    add(hash, options.deviation);
}

SourceStamp stampOf(const std::string& source)
{
    std::error_code error;
    const fs::path path = fs::weakly_canonical(source, error);
    const std::uintmax_t bytes = error ? 0 : fs::file_size(path, error);
    const fs::file_time_type changed = error ? fs::file_time_type() : fs::last_write_time(path, error);
    if (error) {
        return {source, -1, -1};
    }
    const auto since1970 = std::chrono::file_clock::to_sys(changed).time_since_epoch();
    return {path.string(), static_cast<std::int64_t>(bytes),
            std::chrono::duration_cast<std::chrono::nanoseconds>(since1970).count()};
}

ordered_json sourcesJson(const std::vector<SourceStamp>& stamps)
{
    ordered_json json = ordered_json::array();
    for (const SourceStamp& stamp : stamps) {
        json.push_back(
            {{"source", base::visibleText(stamp.source)}, {"bytes", stamp.bytes}, {"modified", stamp.modified}});
    }
    return json;
}

} // namespace

std::string questionOf(const LoadedModel& model, const ExplainRequest& request)
{
    Hasher hash;
    addModel(hash, model);
    addTarget(hash, request.target);
    hash.number(request.alsoTargets.size());
    for (const TargetRequest& target : request.alsoTargets) {
        addTarget(hash, target);
    }
    add(hash, request.checkpoints);
    hash.number(request.stopAtCheckpoints ? 1 : 0);
    addStart(hash, request.start);
    addComposite(hash, request.composite);
    hash.number(static_cast<std::uint64_t>(request.engine));
    hash.number(static_cast<std::uint64_t>(request.save));
    addForwarding(hash, request.forwarding);
    hash.number(static_cast<std::uint64_t>(request.precision));
    hash.number(request.inputsOnly ? 1 : 0);
    hash.number(request.goesOnWhenNotFinite ? 1 : 0);
    addPreparation(hash, request.preparation.value_or(pictureOptions(model.card ? &*model.card : nullptr)));
    return base::hex(hash.digest());
}

std::string questionWith(const std::string& question, std::span<const std::string> words)
{
    Hasher hash;
    hash.text(question);
    hash.number(words.size());
    for (const std::string& word : words) {
        hash.text(word);
    }
    return base::hex(hash.digest());
}

std::vector<SourceStamp> sourceStamps(const std::vector<std::string>& texts, const graph::Graph& graph)
{
    std::vector<SourceStamp> stamps;
    for (const std::string& text : texts) {
        const InputSource input = parseInput(text, graph);
        stamps.push_back(stampOf(input.source));
        stamps.back().source.insert(0, input.name.empty() ? std::string() : input.name + "=");
    }
    return stamps;
}

void addQuestion(const Question& question, ordered_json& result)
{
    result["question"] = question.hash;
    if (!question.sources.empty()) {
        result["sources"] = sourcesJson(question.sources);
    }
}

bool answers(const ordered_json& result, const Question& question)
{
    return result.is_object() && result.value("question", "") == question.hash &&
           result.value("sources", ordered_json::array()) == sourcesJson(question.sources);
}

base::Result<void> withdraw(const fs::path& file)
{
    std::error_code error;
    fs::remove(file, error); // none is no error
    return error ? base::Result<void>(base::outputError("it cannot be removed: " + error.message(), file.string()))
                 : base::Result<void>();
}

} // namespace retro::engine
