import type {
  ASTNode,
  EnvironmentOptions,
  OverlayContext,
  RootContext,
  TypeDeclaration,
} from '@marcbachmann/cel-js';

/** Where names are looked up, while an expression is checked and while it runs. */
export type Context = RootContext | OverlayContext;

/** A context for one name; it is used again each time, with the context around it. */
export type Scope = OverlayContext & { reuse(around: Context): Scope };

/** What the engine gives macros to check their parts with. */
export interface Checker {
  check(node: ASTNode, context: Context): TypeDeclaration;
  getType(name: string): TypeDeclaration;
  formatType(type: TypeDeclaration): string;
  createError(code: string, message: string, node: ASTNode): Error;
  readonly opts: EnvironmentOptions;
  readonly registry: {
    getListType(value: TypeDeclaration): TypeDeclaration;
    getMapType(key: TypeDeclaration, value: TypeDeclaration): TypeDeclaration;
    getOptionalType(value: TypeDeclaration): TypeDeclaration;
  };
}

/** What the engine gives macros to evaluate their parts with. */
export interface Evaluator {
  run(node: ASTNode, context: Context): unknown;
}

/** What a macro is made of, as the engine hands it over. */
export interface MacroCall {
  readonly ast: ASTNode;
  readonly receiver: ASTNode;
  readonly args: readonly ASTNode[];
}

/** A macro in one expression. The engine does not know yet which types its parts have when it is made. */
export interface Macro {
  typeCheck(checker: Checker, macro: Macro, context: Context): TypeDeclaration;
  evaluate(evaluator: Evaluator, macro: Macro, context: Context): unknown;
  /** Nothing here waits for anything. */
  readonly async: false;
}
