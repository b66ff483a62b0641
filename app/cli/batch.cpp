// SPDX-License-Identifier: Apache-2.0
#include "app/cli/batch.h"

#include "app/cli/outputfolder.h"
#include "app/cli/ownprocesses.h"
#include "core/base/csvfield.h"
#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/base/memorylimit.h"
#include "core/base/standardstreams.h"
#include "core/engine/results/resultkey.h"
#include "core/engine/results/resultrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace retro::app
{

namespace fs = std::filesystem;

namespace
{

using base::Result;
using nlohmann::ordered_json;

/// The element of a target as --target takes it: "token=11,class=504", or its number where a sample has one row of
/// classes.
std::string elementOf(const ordered_json& target)
{
    std::string text;
    const ordered_json place = target.value("place", ordered_json::object());
    for (const auto& [axis, index] : place.items()) {
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis, base::jsonOut(index));
    }
    return text.empty() ? base::jsonOut(target.value("index", ordered_json())) : text;
}

/// The entries `key` of all samples, one after the other.
std::string ofTargets(const ordered_json& summary, const char* key)
{
    std::string text;
    for (const ordered_json& target : summary.value("target", ordered_json::array())) {
        const bool isElement = std::string_view(key) == "index";
        const ordered_json value = isElement ? ordered_json(elementOf(target)) : target.value(key, ordered_json());
        text += (text.empty() ? "" : ";") + (value.is_string() ? value.get<std::string>() : base::jsonOut(value));
    }
    return text;
}

/// Target, amounts and seconds of a complete item.
void addResults(const ordered_json& summary, std::vector<std::string>& fields)
{
    for (const char* key : {"output", "index", "label", "logit"}) {
        const std::string text = ofTargets(summary, key);
        fields.push_back(text == "null" ? std::string() : text);
    }
    const auto add = [&fields](const ordered_json& from, const char* key) {
        fields.push_back(base::jsonOut(from.value(key, ordered_json(nullptr))));
    };
    add(summary, "relevance_start");
    add(summary, "relevance_inputs");
    const ordered_json seconds = summary.value("seconds", ordered_json::object());
    add(seconds, "forward");
    add(seconds, "relevance");
}

/// Whether a summary has what the index says of it; one that somebody changed is no result.
bool canBeTold(const ordered_json& summary)
{
    std::vector<std::string> fields;
    try {
        addResults(summary, fields);
    } catch (const ordered_json::exception&) {
        return false;
    }
    return true;
}

/// The summary of a complete item; null when it is not complete.
ordered_json completeSummary(const BatchPlan& plan, const engine::BatchItem& item)
{
    const engine::ResultKey asked{plan.question, engine::sourceStamps(item.sources, plan.graph)};
    ordered_json summary = engine::storedResult(plan.folder / item.stem / "summary.json", asked);
    return canBeTold(summary) ? summary : ordered_json();
}

/// True when nothing is left to do for an item.
bool isComplete(const BatchPlan& plan, const engine::BatchItem& item)
{
    const bool hasRow = plan.rows == nullptr ||
                        plan.rows->has(engine::rowKeyOf(item.stem, engine::sourceStamps(item.sources, plan.graph)));
    return hasRow && (plan.folder.empty() || completeSummary(plan, item).is_object());
}

std::string rowOf(const engine::BatchItem& item, const ordered_json& summary, const std::string& failure)
{
    std::vector<std::string> fields{item.stem, item.file.string(), failure.empty() ? "complete" : "failed: " + failure};
    if (summary.is_object()) {
        addResults(summary, fields);
    }
    fields.resize(11);
    std::string row;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        row += (i == 0 ? "" : ",") + base::csvField(fields[i]);
    }
    return row + "\n";
}

/// Why an item was not explained.
struct Failure
{
    std::string text;
    base::ErrorCode code = base::ErrorCode::Input;
};

using Failures = std::map<std::size_t, Failure>; // by item

/// Items that are complete; their list as a table where there is a folder.
Result<std::size_t> writeIndex(const BatchPlan& plan, const Failures& failures)
{
    if (plan.folder.empty()) {
        return static_cast<std::size_t>(
            std::ranges::count_if(plan.items, [&](const engine::BatchItem& item) { return isComplete(plan, item); }));
    }
    std::string table = "name,input,status,output,index,label,logit,relevance_start,relevance_inputs,"
                        "seconds_forward,seconds_relevance\n";
    std::size_t complete = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const ordered_json summary = completeSummary(plan, plan.items[i]);
        const auto failure = failures.find(i);
        if (summary.is_object() || failure != failures.end()) {
            table += rowOf(plan.items[i], summary, failure == failures.end() ? "" : failure->second.text);
        }
        complete += summary.is_object() ? 1 : 0;
    }
    RETRO_CHECK(base::writeFile(plan.folder / "index.csv", table));
    return complete;
}

std::size_t ofShard(const BatchPlan& plan)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        count += plan.shard.has(i) ? 1 : 0;
    }
    return count;
}

std::vector<std::size_t> openItems(const BatchPlan& plan)
{
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        if (plan.shard.has(i) && !isComplete(plan, plan.items[i])) {
            open.push_back(i);
        }
    }
    return open;
}

/// Removes what killed calls left beside what is complete: nobody holds those folders again.
void tidy(const BatchPlan& plan)
{
    if (plan.folder.empty()) {
        return;
    }
    base::removeLeftovers(plan.folder, 0);
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        if (plan.shard.has(i)) {
            removeLeftovers(plan.folder / plan.items[i].stem);
        }
    }
}

/// Explains an item unless another process has done so meanwhile. Nothing that arises ends the batch.
Result<void> explainItem(const BatchPlan& plan, const engine::BatchItem& item,
                         const std::function<Result<void>(const engine::BatchItem&)>& explain)
{
    std::optional<HeldFolder> lock;
    if (!plan.folder.empty()) {
        RETRO_TRY(HeldFolder held, holdItemFolder(plan.folder / item.stem));
        lock.emplace(std::move(held));
        if (isComplete(plan, item)) {
            return {};
        }
    }
    try {
        return explain(item);
    } catch (const std::exception& error) {
        return base::Error{base::ErrorCode::Bug, std::string("this is a bug in Retrograde: ") + error.what(), {}};
    }
}

Failures explainHere(const Context& context, const BatchPlan& plan, const std::vector<std::size_t>& open,
                     const std::function<Result<void>(const engine::BatchItem&)>& explain)
{
    Failures failures;
    for (std::size_t i = 0; i < open.size(); ++i) {
        const engine::BatchItem& item = plan.items[open[i]];
        if (const Result<void> done = base::caught([&] { return explainItem(plan, item, explain); }); !done) {
            failures[open[i]] = {done.error().text(), done.error().code};
            base::sayErrorLine(fmt::format("retrograde-cli: {}: {}", item.stem, done.error().text()));
        } else {
            context.say(fmt::format("explained    {} ({} of {})", item.stem, i + 1, open.size()));
        }
    }
    return failures;
}

constexpr const char* kSaidByProcess = "its process says why";

/// What an item that its job did not explain failed for, as far as the job's end says.
Failure failureOf(const EndedProcess& job, std::size_t number, std::size_t jobs)
{
    if (job.signal != 0) {
        return {fmt::format("job {} of {} was ended by signal {}{}; run the call again to go on", number, jobs,
                            job.signal, job.signal == SIGKILL ? " (out of memory?)" : ""),
                base::ErrorCode::Engine};
    }
    return {kSaidByProcess, errorCodeOf(job.exitCode)};
}

/// Job k of n explains every n-th item of the shard, which is a shard as well, with its part of threads and memory.
Result<Failures> explainInJobs(const Context& context, const BatchPlan& plan, const std::vector<std::size_t>& open)
{
    std::vector<std::vector<std::string>> options;
    const auto jobs = static_cast<std::size_t>(plan.jobs);
    for (std::size_t k = 0; k < jobs; ++k) {
        options.push_back({"--shard",
                           fmt::format("{}/{}", plan.shard.number + plan.shard.count * k, plan.shard.count * jobs),
                           "--threads", std::to_string(std::max(1, context.usedThreads() / plan.jobs)), "--memory",
                           std::to_string(std::max<std::uint64_t>(1, base::MemoryLimit::bytes() / jobs)), "--quiet"});
    }
    RETRO_TRY(const std::vector<EndedProcess> ended,
              runOwnProcesses(context.arguments, {"--jobs", "--shard", "--threads", "--memory"}, {"--quiet", "--json"},
                              options));
    if (plan.rows != nullptr) {
        RETRO_CHECK(plan.rows->refresh());
    }
    Failures failures;
    for (const std::size_t i : open) {
        const std::size_t job = i / plan.shard.count % jobs;
        if (!isComplete(plan, plan.items[i])) {
            failures[i] = failureOf(ended[job], job + 1, jobs);
        }
    }
    return failures;
}

/// How the batch ends. What is wrong with the machine comes before what is wrong with an input: it stops the others,
/// too.
base::Error errorOf(const BatchPlan& plan, const Failures& failures, std::size_t open)
{
    using base::ErrorCode;
    auto worst = failures.begin();
    for (const ErrorCode code : {ErrorCode::Bug, ErrorCode::Output, ErrorCode::Engine, ErrorCode::Input}) {
        worst = std::ranges::find_if(failures, [code](const auto& failure) { return failure.second.code == code; });
        if (worst != failures.end()) {
            break;
        }
    }
    worst = worst == failures.end() ? failures.begin() : worst;
    const auto& [item, failure] = *worst;
    const bool isSaid = failure.code == ErrorCode::Input || failure.text == kSaidByProcess;
    return {failure.code,
            fmt::format("{}{} of {} inputs could not be explained; the others are done",
                        isSaid ? std::string() : failure.text + "; ", failures.size(), open),
            plan.items[item].file.string()};
}

} // namespace

Result<void> explainBatch(const Context& context, const BatchPlan& plan,
                          const std::function<Result<void>(const engine::BatchItem&)>& explain)
{
    std::optional<base::FolderLock> lock;
    if (!plan.folder.empty()) {
        RETRO_CHECK(base::makeFolder(plan.folder));
        RETRO_TRY(base::FolderLock held, base::FolderLock::together(plan.folder, plan.question));
        lock.emplace(std::move(held));
    }
    tidy(plan);
    const std::vector<std::size_t> open = openItems(plan);
    const std::size_t skipped = ofShard(plan) - open.size();
    Failures failures;
    if (plan.jobs > 1 && open.size() > 1) {
        RETRO_TRY(failures, explainInJobs(context, plan, open));
    } else {
        failures = explainHere(context, plan, open, explain);
        if (plan.rows != nullptr) {
            RETRO_CHECK(plan.rows->flush());
        }
    }
    tidy(plan); // again: a process of a killed call may have lived until now
    RETRO_TRY(const std::size_t complete, writeIndex(plan, failures));
    const std::size_t explained = open.size() - failures.size();
    context.say(fmt::format("batch        {} explained now, {} {} there already, {} of {} complete, {} failed",
                            explained, skipped, skipped == 1 ? "was" : "were", complete, plan.items.size(),
                            failures.size()));
    if (context.json) {
        ordered_json answer{{"inputs", plan.items.size()},
                            {"explained", explained},
                            {"skipped", skipped},
                            {"complete", complete},
                            {"failed", failures.size()}};
        if (!plan.folder.empty()) {
            answer["index"] = (plan.folder / "index.csv").string();
        }
        if (plan.rows != nullptr) {
            answer["out"] = plan.rows->path().string();
            answer["rows"] = plan.rows->size();
        }
        context.answer(answer);
    }
    return failures.empty() ? Result<void>() : errorOf(plan, failures, open.size());
}

} // namespace retro::app
