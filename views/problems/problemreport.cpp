// SPDX-License-Identifier: Apache-2.0
#include "views/problems/problemreport.h"

#include <QCoreApplication>
#include <QSysInfo>

namespace retro::views
{

namespace
{

QString tr(const char* text) { return QCoreApplication::translate("retro::views::ProblemReport", text); }

bool isInGraph(const Problem& problem, const RunModel& model)
{
    return problem.node.isValid() && model.hasRun() &&
           problem.node.index() < model.graph().nodeCount() + model.graph().inputs().size();
}

void addNode(QStringList& lines, const Problem& problem, const RunModel& model)
{
    lines << tr("Node: %1").arg(placeOf(problem, model));
    for (const base::ValueId value : model.graph().outputsOf(problem.node)) {
        const QString shape = model.shapeText(value);
        lines << tr("Output: %1, %2").arg(model.label(value), shape.isEmpty() ? tr("shape unknown") : shape);
    }
    const auto& rules = model.run().rules;
    if (problem.node.index() < rules.size() && !rules[problem.node.index()].rule.empty()) {
        lines << tr("Rule: %1").arg(QString::fromStdString(rules[problem.node.index()].rule));
    }
}

void addRun(QStringList& lines, const RunModel& model)
{
    const trace::RunFacts& facts = model.run().facts;
    lines << tr("Model: %1, %2 nodes").arg(QString::fromStdString(facts.modelName)).arg(model.graph().nodeCount());
    if (model.run().eventCount() > 0) {
        lines << tr("Rules: %1, %2")
                     .arg(QString::fromStdString(facts.composite), QString::fromStdString(facts.precision));
        lines << tr("Event: %1 of %2").arg(model.position()).arg(model.run().eventCount());
    }
}

} // namespace

QString wordOf(Severity severity) { return severity == Severity::Error ? tr("error") : tr("warning"); }

QString placeOf(const Problem& problem, const RunModel& model)
{
    return isInGraph(problem, model) ? QStringLiteral("%1 (%2)").arg(model.label(problem.node), model.op(problem.node))
                                     : QString();
}

QString problemReport(const Problem& problem, const RunModel& model)
{
    QStringList lines{QStringLiteral("%1 %2, Qt %3, %4")
                          .arg(QCoreApplication::applicationName(), QCoreApplication::applicationVersion(),
                               QString::fromLatin1(qVersion()), QSysInfo::prettyProductName())};
    if (model.hasRun()) {
        addRun(lines, model);
    }
    lines << QStringLiteral("%1: %2").arg(wordOf(problem.severity), problem.what);
    if (!problem.remedy.isEmpty()) {
        lines << tr("What to do: %1").arg(problem.remedy);
    }
    if (isInGraph(problem, model)) {
        addNode(lines, problem, model);
    }
    return lines.join(QLatin1Char('\n')) + QLatin1Char('\n');
}

} // namespace retro::views
