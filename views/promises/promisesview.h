// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

class QSplitter;
class QTreeView;

namespace retro::views
{

class PromiseTreeModel;
class WhyPane;

/// Values that a rule needs and nobody saved: the promises of the run as a tree, at the cursor, and below it why the
/// selected one waits.
class PromisesView final : public View
{
    Q_OBJECT

public:
    PromisesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Promises"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override { return tr("Values that a rule needs and nobody saved."); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override { return {QStringLiteral("csv")}; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

public slots:
    /// Moves the cursor to where the selected promise is raised, or fulfilled.
    void goToOpening();
    void goToFulfilment();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    void makeTree();
    void showSelection();
    void chooseRow(const QModelIndex& index);
    void showMenu(const QPoint& at);
    [[nodiscard]] std::string csv() const;

    PromiseTreeModel* m_items = nullptr;
    QSplitter* m_splitter = nullptr;
    QTreeView* m_tree = nullptr;
    WhyPane* m_why = nullptr;
};

} // namespace retro::views
