// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/breakpointmemory.h"

#include "core/base/hash.h"
#include "core/graph/graphbuilder.h"

#include <QSettings>

#include <algorithm>

namespace retro::app
{

namespace
{

const QString kGroup = QStringLiteral("breakpoints");
const QString kModel = QStringLiteral("model");
const QString kConditions = QStringLiteral("conditions");

} // namespace

BreakpointMemory::BreakpointMemory(const views::RunModel& model, views::BreakpointList& list, QObject* parent)
    : QObject(parent), m_model(model), m_list(list)
{
    connect(&model, &views::RunModel::runChanged, this, &BreakpointMemory::takeRun);
    connect(&list, &views::BreakpointList::changed, this, &BreakpointMemory::keep);
}

void BreakpointMemory::useStore(QSettings& store)
{
    m_store = &store;
    m_kept.clear();
    const int count = store.beginReadArray(kGroup);
    for (int i = 0; i < std::min(count, kMostModels); ++i) {
        store.setArrayIndex(i);
        m_kept.append({store.value(kModel).toString(), store.value(kConditions).toStringList()});
    }
    store.endArray();
    m_key.clear();
    m_graph.reset();
    takeRun();
}

QStringList BreakpointMemory::conditionsOf(const QString& model) const
{
    const auto at = std::find_if(m_kept.begin(), m_kept.end(), [&](const Kept& kept) { return kept.model == model; });
    return at == m_kept.end() ? QStringList() : at->conditions;
}

void BreakpointMemory::takeRun()
{
    if (!m_model.hasRun() || m_graph.lock() == m_model.run().graph) {
        return;
    }
    m_graph = m_model.run().graph;
    const QString key = QString::fromStdString(base::hex(graph::structuralHash(m_model.graph())));
    if (key != m_key) {
        m_key = key;
        m_list.restore(conditionsOf(key));
    }
}

void BreakpointMemory::keep()
{
    const QStringList conditions = m_list.save();
    if (m_key.isEmpty() || conditions == conditionsOf(m_key)) {
        return;
    }
    m_kept.removeIf([this](const Kept& kept) { return kept.model == m_key; });
    if (!conditions.isEmpty()) {
        m_kept.prepend({m_key, conditions});
        m_kept = m_kept.mid(0, kMostModels);
    }
    write();
}

void BreakpointMemory::write()
{
    if (m_store == nullptr) {
        return;
    }
    m_store->remove(kGroup);
    m_store->beginWriteArray(kGroup);
    for (int i = 0; i < m_kept.size(); ++i) {
        m_store->setArrayIndex(i);
        m_store->setValue(kModel, m_kept[i].model);
        m_store->setValue(kConditions, m_kept[i].conditions);
    }
    m_store->endArray();
}

} // namespace retro::app

#include "moc_breakpointmemory.cpp"
