// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/questioncheck.h"

#include "app/gui/jobs/engineworker.h"
#include "core/engine/model/runnablepart.h"
#include "core/engine/ways/workload.h"
#include "core/ops/registry.h"
#include "views/common/numbertext.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/stringlist.h"

#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <map>

namespace retro::app
{

namespace
{

/// Operators and rules that are named before the rest is only counted.
constexpr std::size_t kNamed = 4;

QString figuresOf(const tensor::Tensor& input)
{
    double least = input.size() > 0 ? input.at(0) : 0;
    double most = least;
    for (std::int64_t i = 1; i < input.size(); ++i) {
        least = std::min(least, input.at(i));
        most = std::max(most, input.at(i));
    }
    tensor::Shape shape = input.shape();
    if (shape.size() > 1 && shape.front() == 1) {
        shape.erase(shape.begin());
    }
    return EngineWorker::tr("%1, %2 to %3")
        .arg(QString::fromStdString(tensor::toText(shape)), views::valueText(least, 3), views::valueText(most, 3));
}

views::InputPreview previewOf(const ExplainJob& job, const engine::PictureOptions& options)
{
    views::InputPreview preview;
    const tensor::Tensor& input = job.tensors.front();
    preview.figures = figuresOf(input);
    if (const auto pictures = engine::picturesOf(job.question.inputs, *job.model->graph()); !pictures.empty()) {
        QStringList lines{preview.figures, QString::fromStdString(engine::originText(options))};
        lines << views::stringList(engine::pictureNotes(pictures, options))
              << views::stringList(engine::pictureWarnings(pictures, *job.model, options));
        preview.figures = lines.join(QLatin1Char('\n'));
    }
    if (input.rank() == 4) {
        preview.picture = views::pictureOfTensor(input, options.low, options.high, options.mean, options.deviation,
                                                 options.layout == "NHWC", options.channels == "BGR");
    }
    return preview;
}

/// "z-plus 12 · pass 10 · epsilon 1": rules and how many nodes follow them, the most frequent first.
QString rulesText(const std::vector<engine::RuleLine>& lines)
{
    std::map<QString, int> counts;
    for (const engine::RuleLine& line : lines) {
        if (line.rule != "-") {
            static const QRegularExpression kAfterName(QStringLiteral("[ ,(].*"));
            ++counts[QString::fromStdString(line.rule).remove(kAfterName)];
        }
    }
    std::vector<std::pair<int, QString>> order;
    for (const auto& [rule, count] : counts) {
        order.emplace_back(-count, rule);
    }
    std::sort(order.begin(), order.end());
    QStringList words;
    for (std::size_t i = 0; i < std::min(order.size(), kNamed); ++i) {
        words << EngineWorker::tr("%1 %2").arg(order[i].second).arg(-order[i].first);
    }
    return words.join(QStringLiteral(" · "));
}

/// What the run will take; what there is no memory for is refused before it begins.
void estimateInto(views::QuestionCheck& check, const ExplainJob& job, engine::ExplainRequest request,
                  const std::stop_token& stop)
{
    const auto language = languageOf(job);
    if (!language || !*language) {
        return; // of pictures a pass takes less than what tells how long it takes
    }
    request.record = request.keepValues = true; // as the window runs it
    constexpr double kSampling = 0.3;           // seconds: it is worked out anew whenever the question changes
    const auto made = engine::estimate(*job.model, request, stop, kSampling);
    if (!made) {
        return;
    }
    check.estimate =
        EngineWorker::tr("%1 tokens · %2 at most · about %3 s")
            .arg((*language)->tokens.size())
            .arg(views::bytesText(static_cast<std::int64_t>(made->processBytes)), views::valueText(made->seconds, 2));
    if (const auto fits = engine::checkEstimate(*made); !fits) {
        check.problem = QString::fromStdString(fits.error().text());
    }
}

} // namespace

views::QuestionCheck checkQuestion(ExplainJob job, const std::stop_token& stop)
{
    views::QuestionCheck check;
    const engine::PictureOptions options = job.options();
    const auto model = modelOf(job, stop);
    if (!model) {
        check.problem = QString::fromStdString(model.error().text());
        return check;
    }
    job.model = *model;
    const auto inputs = readInputs(job);
    if (!inputs) {
        check.preview.problem = QString::fromStdString(inputs.error().text());
        check.problem = check.preview.problem;
        return check;
    }
    if (!job.tensors.empty()) {
        check.preview = previewOf(job, options);
    }
    base::Result<engine::ExplainRequest> request = requestOf(job);
    if (!request) {
        check.problem = QString::fromStdString(request.error().text());
        return check;
    }
    request->inputs = job.tensors;
    const auto value = engine::targetValue(request->target, *job.model->graph());
    lrp::Composite composite;
    const auto rules = engine::listRules(*job.model, *request, &composite, stop);
    if (!value) {
        check.problem = QString::fromStdString(value.error().text());
    } else if (!rules) {
        check.problem = QString::fromStdString(rules.error().text());
    } else {
        check.rules = rulesText(*rules);
        check.reason = QString::fromStdString(composite.reason);
        estimateInto(check, job, *request, stop);
    }
    return check;
}

QString unsupportedText(const engine::LoadedModel& model)
{
    const graph::Graph& graph = *model.graph();
    struct Refused
    {
        int count = 0;
        QString first;
        QString reason;
    };
    std::map<std::string, Refused> refused;
    for (const ops::UnsupportedNode& node : ops::unsupported(graph)) {
        Refused& entry = refused[std::string(graph.opOf(node.node))];
        if (entry.count++ == 0) {
            entry.first = QString::fromStdString(std::string(graph.labelOf(node.node)));
            entry.reason = QString::fromStdString(node.reason);
        }
    }
    QStringList lines;
    for (const auto& [op, entry] : refused) {
        if (static_cast<std::size_t>(lines.size()) == kNamed) {
            lines << EngineWorker::tr("and %1 more operators").arg(refused.size() - kNamed);
            break;
        }
        lines << EngineWorker::tr("%1 (%2 ×, first %3): %4")
                     .arg(QString::fromStdString(op))
                     .arg(entry.count)
                     .arg(entry.first, entry.reason);
    }
    if (const auto absent = engine::firstAbsent(graph)) {
        lines << EngineWorker::tr("weights %1: %2")
                     .arg(QString::fromStdString(*absent), QString::fromStdString(engine::absenceOf(model, *absent)));
    }
    if (lines.isEmpty()) {
        return {};
    }
    const QString head = engine::runsInPart(model) ? EngineWorker::tr("What depends on this cannot be run:")
                                                   : EngineWorker::tr("This model cannot be run:");
    return head + QLatin1Char('\n') + lines.join(QLatin1Char('\n'));
}

views::Preparation preparationOf(const engine::PictureOptions& options)
{
    return {QString::fromStdString(options.layout),
            QString::fromStdString(options.channels),
            options.asStored ? QStringLiteral("stored") : QStringLiteral("shown"),
            QString::fromStdString(options.frame),
            options.low,
            options.high,
            options.mean,
            options.deviation};
}

} // namespace retro::app
