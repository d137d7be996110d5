/*! preact 11.2.0, @preact/signals 2.11.4, htm 3.1.1
 *
 * preact
 * The MIT License (MIT)
 *
 * Copyright (c) 2015-present Jason Miller
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * @preact/signals
 * The MIT License (MIT)
 *
 * Copyright (c) 2022-present Preact Team
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * htm
 *
 *                                  Apache License
 *                            Version 2.0, January 2004
 *                         http://www.apache.org/licenses/
 *
 *    TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION
 *
 *    1. Definitions.
 *
 *       "License" shall mean the terms and conditions for use, reproduction,
 *       and distribution as defined by Sections 1 through 9 of this document.
 *
 *       "Licensor" shall mean the copyright owner or entity authorized by
 *       the copyright owner that is granting the License.
 *
 *       "Legal Entity" shall mean the union of the acting entity and all
 *       other entities that control, are controlled by, or are under common
 *       control with that entity. For the purposes of this definition,
 *       "control" means (i) the power, direct or indirect, to cause the
 *       direction or management of such entity, whether by contract or
 *       otherwise, or (ii) ownership of fifty percent (50%) or more of the
 *       outstanding shares, or (iii) beneficial ownership of such entity.
 *
 *       "You" (or "Your") shall mean an individual or Legal Entity
 *       exercising permissions granted by this License.
 *
 *       "Source" form shall mean the preferred form for making modifications,
 *       including but not limited to software source code, documentation
 *       source, and configuration files.
 *
 *       "Object" form shall mean any form resulting from mechanical
 *       transformation or translation of a Source form, including but
 *       not limited to compiled object code, generated documentation,
 *       and conversions to other media types.
 *
 *       "Work" shall mean the work of authorship, whether in Source or
 *       Object form, made available under the License, as indicated by a
 *       copyright notice that is included in or attached to the work
 *       (an example is provided in the Appendix below).
 *
 *       "Derivative Works" shall mean any work, whether in Source or Object
 *       form, that is based on (or derived from) the Work and for which the
 *       editorial revisions, annotations, elaborations, or other modifications
 *       represent, as a whole, an original work of authorship. For the purposes
 *       of this License, Derivative Works shall not include works that remain
 *       separable from, or merely link (or bind by name) to the interfaces of,
 *       the Work and Derivative Works thereof.
 *
 *       "Contribution" shall mean any work of authorship, including
 *       the original version of the Work and any modifications or additions
 *       to that Work or Derivative Works thereof, that is intentionally
 *       submitted to Licensor for inclusion in the Work by the copyright owner
 *       or by an individual or Legal Entity authorized to submit on behalf of
 *       the copyright owner. For the purposes of this definition, "submitted"
 *       means any form of electronic, verbal, or written communication sent
 *       to the Licensor or its representatives, including but not limited to
 *       communication on electronic mailing lists, source code control systems,
 *       and issue tracking systems that are managed by, or on behalf of, the
 *       Licensor for the purpose of discussing and improving the Work, but
 *       excluding communication that is conspicuously marked or otherwise
 *       designated in writing by the copyright owner as "Not a Contribution."
 *
 *       "Contributor" shall mean Licensor and any individual or Legal Entity
 *       on behalf of whom a Contribution has been received by Licensor and
 *       subsequently incorporated within the Work.
 *
 *    2. Grant of Copyright License. Subject to the terms and conditions of
 *       this License, each Contributor hereby grants to You a perpetual,
 *       worldwide, non-exclusive, no-charge, royalty-free, irrevocable
 *       copyright license to reproduce, prepare Derivative Works of,
 *       publicly display, publicly perform, sublicense, and distribute the
 *       Work and such Derivative Works in Source or Object form.
 *
 *    3. Grant of Patent License. Subject to the terms and conditions of
 *       this License, each Contributor hereby grants to You a perpetual,
 *       worldwide, non-exclusive, no-charge, royalty-free, irrevocable
 *       (except as stated in this section) patent license to make, have made,
 *       use, offer to sell, sell, import, and otherwise transfer the Work,
 *       where such license applies only to those patent claims licensable
 *       by such Contributor that are necessarily infringed by their
 *       Contribution(s) alone or by combination of their Contribution(s)
 *       with the Work to which such Contribution(s) was submitted. If You
 *       institute patent litigation against any entity (including a
 *       cross-claim or counterclaim in a lawsuit) alleging that the Work
 *       or a Contribution incorporated within the Work constitutes direct
 *       or contributory patent infringement, then any patent licenses
 *       granted to You under this License for that Work shall terminate
 *       as of the date such litigation is filed.
 *
 *    4. Redistribution. You may reproduce and distribute copies of the
 *       Work or Derivative Works thereof in any medium, with or without
 *       modifications, and in Source or Object form, provided that You
 *       meet the following conditions:
 *
 *       (a) You must give any other recipients of the Work or
 *           Derivative Works a copy of this License; and
 *
 *       (b) You must cause any modified files to carry prominent notices
 *           stating that You changed the files; and
 *
 *       (c) You must retain, in the Source form of any Derivative Works
 *           that You distribute, all copyright, patent, trademark, and
 *           attribution notices from the Source form of the Work,
 *           excluding those notices that do not pertain to any part of
 *           the Derivative Works; and
 *
 *       (d) If the Work includes a "NOTICE" text file as part of its
 *           distribution, then any Derivative Works that You distribute must
 *           include a readable copy of the attribution notices contained
 *           within such NOTICE file, excluding those notices that do not
 *           pertain to any part of the Derivative Works, in at least one
 *           of the following places: within a NOTICE text file distributed
 *           as part of the Derivative Works; within the Source form or
 *           documentation, if provided along with the Derivative Works; or,
 *           within a display generated by the Derivative Works, if and
 *           wherever such third-party notices normally appear. The contents
 *           of the NOTICE file are for informational purposes only and
 *           do not modify the License. You may add Your own attribution
 *           notices within Derivative Works that You distribute, alongside
 *           or as an addendum to the NOTICE text from the Work, provided
 *           that such additional attribution notices cannot be construed
 *           as modifying the License.
 *
 *       You may add Your own copyright statement to Your modifications and
 *       may provide additional or different license terms and conditions
 *       for use, reproduction, or distribution of Your modifications, or
 *       for any such Derivative Works as a whole, provided Your use,
 *       reproduction, and distribution of the Work otherwise complies with
 *       the conditions stated in this License.
 *
 *    5. Submission of Contributions. Unless You explicitly state otherwise,
 *       any Contribution intentionally submitted for inclusion in the Work
 *       by You to the Licensor shall be under the terms and conditions of
 *       this License, without any additional terms or conditions.
 *       Notwithstanding the above, nothing herein shall supersede or modify
 *       the terms of any separate license agreement you may have executed
 *       with Licensor regarding such Contributions.
 *
 *    6. Trademarks. This License does not grant permission to use the trade
 *       names, trademarks, service marks, or product names of the Licensor,
 *       except as required for reasonable and customary use in describing the
 *       origin of the Work and reproducing the content of the NOTICE file.
 *
 *    7. Disclaimer of Warranty. Unless required by applicable law or
 *       agreed to in writing, Licensor provides the Work (and each
 *       Contributor provides its Contributions) on an "AS IS" BASIS,
 *       WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
 *       implied, including, without limitation, any warranties or conditions
 *       of TITLE, NON-INFRINGEMENT, MERCHANTABILITY, or FITNESS FOR A
 *       PARTICULAR PURPOSE. You are solely responsible for determining the
 *       appropriateness of using or redistributing the Work and assume any
 *       risks associated with Your exercise of permissions under this License.
 *
 *    8. Limitation of Liability. In no event and under no legal theory,
 *       whether in tort (including negligence), contract, or otherwise,
 *       unless required by applicable law (such as deliberate and grossly
 *       negligent acts) or agreed to in writing, shall any Contributor be
 *       liable to You for damages, including any direct, indirect, special,
 *       incidental, or consequential damages of any character arising as a
 *       result of this License or out of the use or inability to use the
 *       Work (including but not limited to damages for loss of goodwill,
 *       work stoppage, computer failure or malfunction, or any and all
 *       other commercial damages or losses), even if such Contributor
 *       has been advised of the possibility of such damages.
 *
 *    9. Accepting Warranty or Additional Liability. While redistributing
 *       the Work or Derivative Works thereof, You may choose to offer,
 *       and charge a fee for, acceptance of support, warranty, indemnity,
 *       or other liability obligations and/or rights consistent with this
 *       License. However, in accepting such obligations, You may act only
 *       on Your own behalf and on Your sole responsibility, not on behalf
 *       of any other Contributor, and only if You agree to indemnify,
 *       defend, and hold each Contributor harmless for any liability
 *       incurred by, or claims asserted against, such Contributor by reason
 *       of your accepting any such warranty or additional liability.
 *
 *    END OF TERMS AND CONDITIONS
 *
 *    APPENDIX: How to apply the Apache License to your work.
 *
 *       To apply the Apache License to your work, attach the following
 *       boilerplate notice, with the fields enclosed by brackets "[]"
 *       replaced with your own identifying information. (Don't include
 *       the brackets!)  The text should be enclosed in the appropriate
 *       comment syntax for the file format. We also recommend that a
 *       file or class name and description of purpose be included on the
 *       same "printed page" as the copyright notice for easier
 *       identification within third-party archives.
 *
 *    Copyright 2018 Google Inc.
 *
 *    Licensed under the Apache License, Version 2.0 (the "License");
 *    you may not use this file except in compliance with the License.
 *    You may obtain a copy of the License at
 *
 *        http://www.apache.org/licenses/LICENSE-2.0
 *
 *    Unless required by applicable law or agreed to in writing, software
 *    distributed under the License is distributed on an "AS IS" BASIS,
 *    WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 *    See the License for the specific language governing permissions and
 *    limitations under the License. */
var Fe=function(t,e,n,i){var r;e[0]=0;for(var _=1;_<e.length;_++){var o=e[_++],f=e[_]?(e[0]|=o?1:2,n[e[_++]]):e[++_];o===3?i[0]=f:o===4?i[1]=Object.assign(i[1]||{},f):o===5?(i[1]=i[1]||{})[e[++_]]=f:o===6?i[1][e[++_]]+=f+"":o?(r=t.apply(f,Fe(t,f,n,["",null])),i.push(r),f[0]?e[0]|=2:(e[_-2]=0,e[_]=r)):i.push(f)}return i},De=new Map;function Re(t){var e=De.get(this);return e||(e=new Map,De.set(this,e)),(e=Fe(this,e.get(t)||(e.set(t,e=(function(n){for(var i,r,_=1,o="",f="",c=[0],a=function(l){_===1&&(l||(o=o.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?c.push(0,l,o):_===3&&(l||o)?(c.push(3,l,o),_=2):_===2&&o==="..."&&l?c.push(4,l,0):_===2&&o&&!l?c.push(5,0,!0,o):_>=5&&((o||!l&&_===5)&&(c.push(_,0,o,r),_=6),l&&(c.push(_,l,0,r),_=6)),o=""},s=0;s<n.length;s++){s&&(_===1&&a(),a(s));for(var v=0;v<n[s].length;v++)i=n[s][v],_===1?i==="<"?(a(),c=[c],_=3):o+=i:_===4?o==="--"&&i===">"?(_=1,o=""):o=i+o[0]:f?i===f?f="":o+=i:i==='"'||i==="'"?f=i:i===">"?(a(),_=1):_&&(i==="="?(_=5,r=o,o=""):i==="/"&&(_<5||n[s][v+1]===">")?(a(),_===3&&(c=c[0]),_=c,(c=c[0]).push(2,0,_),_=0):i===" "||i==="	"||i===`
`||i==="\r"?(a(),_=2):o+=i),_===3&&o==="!--"&&(_=4,c=c[0])}return a(),c})(t)),e),arguments,[])).length>1?e:e[0]}var d,qe,be,U,me,ue,Le,oe,Ve,ke,ye,Ie,G=Symbol.for("pv"),fe={},se=[],gt=/^m(i|n|o|s|text|space)$/,we=Array.isArray,Se=se.slice,D=Object.assign;function H(t){t&&t.parentNode&&t.remove()}function J(t,e,n){var i,r,_,o={},f=arguments.length;for(_ in e)_=="key"?i=e[_]:_=="ref"&&typeof t!="function"?r=e[_]:o[_]=e[_];return f>2&&(o.children=f>3?Se.call(arguments,2):n),z(t,o,i,r,null)}function z(t,e,n,i,r){var _={type:t,props:e,key:n,ref:i,__k:null,__:null,__b:0,__e:null,__c:null,constructor:G,__v:r||++qe,__i:-1,__u:0};return!r&&d.vnode&&d.vnode(_),_}function M(t){return t.children}function q(t,e){this.props=t,this.context=e,this.__g=0}function E(t,e){if(e==null)return t.__&&E(t.__,t.__i+1);for(var n;e<t.__k.length;e++)if((n=t.__k[e])&&n.__e)return n.__e;return typeof t.type!="function"||t.props.__P?null:E(t)}function bt(t){var e,n=t.__v,i=n.__e,r=[],_=[],o=t.__P;o&&((e=D({constructor:G},n)).__v=n.__v+1,d.vnode&&d.vnode(e),xe(o,e,n,t.__n,o.namespaceURI,32&n.__u?[i]:null,r,i||E(n),32&n.__u,_),e.__v=n.__v,e.__.__k[e.__i]=e,Ke(r,e,_),n.__=n.__e=null,e.__e!=i&&Be(e))}function Be(t){if((t=t.__)&&t.__c&&!t.props.__P)return t.__e=null,t.__k.some(function(e){return e&&(t.__e=e.__e)}),Be(t)}function ge(t){(8&t.__g||(t.__g|=8,U.push(t),ue++))&&me==d.debounceRendering||((me=d.debounceRendering)||queueMicrotask)(ze)}function ze(){try{for(var t,e=1;U.length;)U.length>e&&U.sort(Le),t=U.shift(),e=U.length,8&t.__g&&bt(t)}finally{(ue=U.length)&&(me||queueMicrotask)(ze)}}function Ge(t,e,n,i,r,_,o,f,c,a,s){var v,l,u,p,x,m,g=i.__k||se,h=e.length;for(c=kt(n,e,g,c,h),v=0;v<h;v++)(u=n.__k[v])!=null&&(l=~u.__i&&g[u.__i]||fe,u.__i=v,m=xe(t,u,l,r,_,o,f,c,a,s),p=u.__e,(l.ref!=u.ref||8&l.__u)&&(l.ref&&Ce(l.ref,null,u,l),u.ref&&s.push(u.ref,u.__c||p,u)),x=x||p,4&u.__u?(c=Je(u,c,t,!l.__v),l.__e&&(l.__e=null)):typeof u.type=="function"&&m!==void 0?c=m:p&&(c=p.nextSibling),u.__u&=-21);return n.__e=x,c}function kt(t,e,n,i,r){var _,o,f,c,a,s,v,l,u,p=n.length,x=p,m=0,g=0,h=t.__k=Array(r);for(_=0;_<r;_++)(o=e[_])!=null&&typeof o!="boolean"&&typeof o!="function"?(typeof o!="object"||o.constructor===String?o=h[_]=z(null,o):we(o)?o=h[_]=z(M,{children:o}):o.constructor===G&&o.__b?o=h[_]=z(o.type,o.props,o.key,o.ref,o.__v):h[_]=o,c=_+m,o.__=t,o.__b=t.__b+1,f=null,~(a=o.__i=wt(o,n,c,x))&&(x--,(f=n[a])&&(f.__u|=2)),f&&f.__v?(o.__u|=16,a==c-1?m--:a==c+1?m++:a!=c&&(a>c?m--:m++,g=1)):(~a||(r>p?m--:r<p&&m++),typeof o.type!="function"&&(o.__u|=4))):h[_]=null;if(g){for(s=[],v=[],_=0;_<r;_++)if((o=h[_])&&16&o.__u){for(m=0,l=s.length;m<l;)s[u=m+l>>1]<o.__i?m=u+1:l=u;s[m]=o.__i,v[_]=m+1}for(m=s.length;_--;)v[_]&&(v[_]==m?m--:h[_].__u|=4)}if(x)for(_=0;_<p;_++)!(f=n[_])||2&f.__u||(f.__e==i&&(i=E(f)),Pe(f,f));return i}function Je(t,e,n,i){var r,_,o,f;if(typeof t.type=="function"){if(t.props.__P)return e;if(r=t.__k)for(_=0;_<r.length;_++)r[_]&&(r[_].__=t,e=Je(r[_],e,n,!1));return e}for(e&&!e.parentNode&&(e=E(t))&&!e.parentNode&&(e=null),o=t.__e,f=e;f&&f.nodeType==8;)f=f.nextSibling;for(o!=f&&(!i&&n.moveBefore&&o.parentNode?n.moveBefore(o,e):n.insertBefore(o,e||null)),e=o;(e=e&&e.nextSibling)&&e.nodeType==8&&!e.data.startsWith("$s"););return e}function wt(t,e,n,i){var r,_=t.key,o=t.type,f=e[n],c=f&&!(2&f.__u);if(f===null&&_==null||c&&_==f.key&&o==f.type)return n;if(i>(c?1:0)){for(r=n-1;r>=0;r--)if((f=e[r])&&!(2&f.__u)&&_==f.key&&o==f.type)return r;for(r=n+1;r<e.length;r++)if((f=e[r])&&!(2&f.__u)&&_==f.key&&o==f.type)return r}return-1}function We(t,e,n){n==null&&(n=""),e[0]=="-"?t.setProperty(e,n):t[e]=n}function _e(t,e,n,i,r){var _,o;if(e=="style")if(typeof n=="string")t.style.cssText=n;else{if(typeof i=="string"&&(t.style.cssText=i=""),i)for(e in i)n&&e in n||We(t.style,e);if(n)for(e in n)i&&n[e]==i[e]||We(t.style,e,n[e])}else if(e[0]=="o"&&e[1]=="n")typeof n!="function"&&(n=null),typeof i!="function"&&(i=null),(t.__e||(t.__e={}))[e]=n,n&&i||(o=ye[e]||(ye[e]=St(e)),(t.__a||(t.__a={}))[e]=ke,_=e!=(e=e.replace(Ve,"$1")),(e=e.slice(2))[0]<"a"&&(e=e.toLowerCase()),n?t.addEventListener(e,o,_):t.removeEventListener(e,o,_));else{if(r=="http://www.w3.org/2000/svg")e=e.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(e!="width"&&e!="height"&&e!="href"&&e!="list"&&e!="form"&&e!="tabIndex"&&e!="download"&&e!="rowSpan"&&e!="colSpan"&&e!="role"&&e!="popover"&&e in t)try{return void(t[e]=n??"")}catch{}if(typeof n=="function")return;n==null||n===!1&&e[4]!="-"?t.removeAttribute(e):t.setAttribute(e,e=="popover"&&n==1?"":n)}}function St(t){return function(e){var n=this.__e;if(n){if(n=n[t],e[oe]==null)e[oe]=ke++;else if(e[oe]<this.__a[t])return;return n(d.event?d.event(e):e)}}}function xe(t,e,n,i,r,_,o,f,c,a){var s,v,l,u,p,x,m,g,h,C,b,de,je,ie,O,He,$,j,T=e.type;if(e.constructor!==G)return null;128&n.__u&&(c=32&n.__u,s=n.__c.__z)&&(e.__u|=c,v=_=[],s.nodeType==8?f=re(s,_):_.push(s),f=_[0]||f),(s=d.__b)&&s(e);e:if(typeof T=="function"){l=o.length;try{if(g=e.props,h=(s=T.prototype)&&s.render,C=(s=T.contextType)&&i[s.__c],b=s?C?C.props.value:s.__:i,(u=n.__c)?(e.__c=u,2&u.__g&&(u.__g|=1)):(h?e.__c=u=new T(g,b):(e.__c=u=new q(g,b),u.constructor=T,u.render=Ct),C&&C.sub(u),u.state||(u.state={}),u.__n=i,u.__g|=8,u.__h=[],u.__k=[]),h&&(u.__s||(u.__s=u.state),T.getDerivedStateFromProps&&(u.__s==u.state&&(u.__s=D({},u.__s)),D(u.__s,T.getDerivedStateFromProps(g,u.__s)))),p=u.props,x=u.state,u.__v=e,n.__c){if(g!==p&&h&&!T.getDerivedStateFromProps&&u.componentWillReceiveProps&&u.componentWillReceiveProps(g,b),e.__v==n.__v&&!(8&u.__g)||!(4&u.__g)&&u.shouldComponentUpdate&&u.shouldComponentUpdate(g,u.__s,b)===!1){e.__v!=n.__v&&(u.props=g,u.state=u.__s,u.__g&=-9),e.__e=n.__e,e.__k=n.__k,e.__k.some(function(P){P&&(P.__=e)}),se.push.apply(u.__h,u.__k),u.__k=[],u.__h.length&&o.push(u),f=E(n);break e}u.componentWillUpdate&&u.componentWillUpdate(g,u.__s,b),h&&u.componentDidUpdate&&u.__h.push(function(){u.componentDidUpdate(p,x,m)})}else h&&!T.getDerivedStateFromProps&&u.componentWillMount&&u.componentWillMount(),h&&u.componentDidMount&&u.__h.push(u.componentDidMount);u.context=b,u.props=g,u.__P=t,u.__g&=-5,de=d.__r,je=h?25:0;do u.__g&=-9,de&&de(e),s=u.render(u.props,u.state=u.__s,u.context);while(8&u.__g&&++je<25);h&&(se.push.apply(u.__h,u.__k),u.__k=[]),u.state=u.__s,u.getChildContext&&(i=D({},i,u.getChildContext())),h&&n.__c&&u.getSnapshotBeforeUpdate&&(m=u.getSnapshotBeforeUpdate(p,x)),ie=s&&s.type===M&&s.key==null?s.props.children:s,g.__P&&(s=f,r=(t=g.__P).namespaceURI,c=_=null,n.props&&n.props.__P!=t&&(n.__k.some(function(P){P&&Pe(P,P)}),n.__k=null),f=n.__k?E(n,0):null),f=Ge(t,we(ie)?ie:[ie],e,n,i,r,_,o,f,c,a),g.__P&&(e.__e=null,f=s),e.__u&=-161,v&&v.some(H),u.__h.length&&o.push(u),1&u.__g&&(u.__g&=-4)}catch(P){if(o.length=l,e.__v=null,c||_)if(P&&P.then){if(e.__u|=128|c,_){for(~($=_.indexOf(f||void 0))||($=_.length);(j=_[$-1])&&j.nodeType==8;)$--;for(;$<_.length;$++)if(j=_[$])if(_[$]=null,O){if(j==He)break}else{if(j.nodeType!=8)break;j.data.startsWith("$s")&&(He=re(O=j))}}if(!O){for(;f&&f.nodeType==8&&f.nextSibling;)f=f.nextSibling;O=f}(s=re(O=e.__c.__z||(e.__c.__z=O)))?(e.__e=O,f=s):e.__e=f,f=f&&f.nextSibling}else _&&_.some(H);else e.__e=n.__e;e.__k||(e.__k=n.__k||[]),P&&P.then||Ze(e),d.__e(P,e,n)}}else f=e.__e=xt(n.__e,e,n,i,r,_,o,c,a,t);return(s=d.diffed)&&s(e),f}function re(t,e){if(t&&t.nodeType==8&&t.data.startsWith("$s"))for(var n=1;t=t.nextSibling;){if(t.nodeType==8){if(t.data.startsWith("$s"))n++;else if(t.data.startsWith("/$s")&&!--n)return t}e&&e.push(t)}}function Ze(t){t&&(t.__c&&(t.__c.__g|=4),t.__k&&t.__k.some(Ze))}function Ke(t,e,n){for(var i=0;i<n.length;)Ce(n[i++],n[i++],n[i++]);d.__c&&d.__c(e,t),t.some(function(r){try{t=r.__h,r.__h=[],t.some(function(_){_.call(r)})}catch(_){d.__e(_,r.__v)}})}function xt(t,e,n,i,r,_,o,f,c,a){var s,v,l,u,p,x,m,g,h=n.props||fe,C=e.props,b=e.type;if(b=="svg"?r="http://www.w3.org/2000/svg":b=="math"?r="http://www.w3.org/1998/Math/MathML":r||(r="http://www.w3.org/1999/xhtml"),_){for(s=0;s<_.length;s++)if((p=_[s])&&(b?p.localName==b:p.nodeType==3)){t=p,_[s]=null;break}}if(!t){if(g=a.ownerDocument||document,!b)return g.createTextNode(C);t=g.createElementNS(r,b,C.is?C:a),f&&(d.__m&&d.__m(e,_),f=!1),_=null}if(b){if(a=b=="template"&&t.content||t,_=b=="textarea"&&C.defaultValue!=null?null:_&&Se.call(a.childNodes),!f&&_)for(h={},s=0;s<t.attributes.length;s++)h[(p=t.attributes[s]).name]=p.value;for(s in h)p=h[s],s=="dangerouslySetInnerHTML"?l=p:s=="children"||s in C||s=="value"&&"defaultValue"in C||s=="checked"&&"defaultChecked"in C||_e(t,s,null,p,r);for(s in C)p=C[s],s=="children"?u=p:s=="dangerouslySetInnerHTML"?v=p:s=="value"?x=p:s=="checked"?m=p:f&&typeof p!="function"||h[s]===p||_e(t,s,p,h[s],r);v?(f||l&&(v.__html==l.__html||v.__html==t.innerHTML)||(t.innerHTML=v.__html),e.__k=[]):(l&&(t.textContent=""),(b=="foreignObject"||r=="http://www.w3.org/1998/Math/MathML"&&gt.test(b))&&(r="http://www.w3.org/1999/xhtml"),Ge(a,we(u)?u:[u],e,n,i,r,_,o,_?_[0]:n.__k&&E(n,0),f,c),_&&_.some(H)),f&&b!="textarea"||(s="value",b=="progress"&&x==null?t.removeAttribute(s):x==null||x===t[s]&&(b!="progress"||x)||_e(t,s,x,h[s],r),s="checked",m!=null&&m!=t[s]&&_e(t,s,m,h[s],r))}else h===C||f&&t.data==C||(t.data=C);return t}function Ce(t,e,n,i){try{typeof t=="function"?e?e.__x=t(e)||1:i&&(i=i.__c||i.__e)&&(e=i.__x)&&(i.__x=null,typeof e=="function"?e():t(null)):t.current=e}catch(r){d.__e(r,n)}}function Pe(t,e,n){var i,r,_,o;if(d.unmount&&d.unmount(t),!(i=t.ref)||i.current&&i.current!=t.__e||Ce(i,null,e,t),i=t.__c){if(i.componentWillUnmount)try{i.componentWillUnmount()}catch(f){d.__e(f,e)}i.__P=i.__n=null}if(i=t.__k)for(o=0;o<i.length;o++)i[o]&&Pe(i[o],e,typeof t.type!="function"||n&&!t.props.__P);!n&&(i=t.__c)&&(i=i.__z)&&(r=re(i,_=[]))&&(i==t.__e&&_.some(H),H(r),H(i)),n||H(t.__e),t.__e=t.__c=t.__=null}function Ct(t,e,n){return this.constructor(t,n)}function Pt(t,e){var n,i,r,_;d.__&&d.__(t,e),e.nodeType==9&&(e=e.documentElement),i=(n=t&&32&t.__u)?null:e.__k,e.__k=z(M,{children:[t]}),r=[],_=[],xe(e,e.__k,i||fe,fe,e.namespaceURI,i?null:e.firstChild?Se.call(e.childNodes):null,r,i?i.__e:e.firstChild,n,_),Ke(r,e.__k,_),e.__k.props.children=null}function Tt(t){function e(n){var i,r;return this.getChildContext||(i=new Set,(r={})[e.__c]=this,this.getChildContext=function(){return r},this.shouldComponentUpdate=function(_){this.props.value!=_.value&&i.forEach(function(o){o.__g|=4,ge(o)})},this.sub=function(_){i.add(_);var o=_.componentWillUnmount;_.componentWillUnmount=function(){i.delete(_),o&&o.call(_)}}),n.children}return e.__c="__cC"+Ie++,e.__=t,e.Provider=(e.Consumer=function(n,i){return n.children(i)}).contextType=e,e}d={__e:function(t,e,n,i){for(var r,_,o;e=e.__;)if((r=e.__c)&&!(1&r.__g)){r.__g|=4;try{if((o=(_=r.constructor)&&_.getDerivedStateFromError)&&r.setState(_.getDerivedStateFromError(t)),r.componentDidCatch&&(r.componentDidCatch(t,i||{}),o=1),o&&8&r.__g)return void(r.__g|=2)}catch(f){t=f}}throw ue=0,t}},qe=0,be=function(t){return t!=null&&t.constructor===G},q.prototype.setState=function(t,e){var n=this.__s;n&&n!=this.state||(n=this.__s=D({},this.state)),typeof t=="function"&&(t=t(D({},n),this.props)),t&&(D(n,t),this.__v&&(e&&this.__k.push(e),ge(this)))},q.prototype.forceUpdate=function(t){this.__v&&(this.__g|=4,t&&this.__h.push(t),ge(this))},q.prototype.render=M,U=[],ue=0,Le=function(t,e){return t.__v.__b-e.__v.__b},oe=Symbol(),Ve=/(PointerCapture)$|Capture$/i,ke=0,ye={},Ie=0;var F,k,Te,Qe,Ne=Object.is,K=0,rt=[],$e=[],w=d,Xe=w.__b,Ye=w.__r,et=w.diffed,tt=w.__c,nt=w.unmount,it=w.__;function Q(t,e){w.__h&&w.__h(k,t,K||e),K=0;var n=k.__H||(k.__H={__:[],__h:[]});return t>=n.__.length&&n.__.push({}),n.__[t]}function Nt(t){return K=1,$t(ft,t)}function $t(t,e,n){var i=Q(F++,2);if(i.t=t,!i.__c&&(i.__=[n?n(e):ft(void 0,e),function(_){var o=(i.__N||i.__)[0],f=i.t(o,_);Ne(o,f)||(i.__N=[f,i.__[1]],i.__c.setState({}))}],i.__c=k,!k.__f)){k.__f=!0;var r=k.shouldComponentUpdate;k.shouldComponentUpdate=function(_,o,f){var c=this.__H;if(!c)return!0;var a=!1,s=this.props!=_;if(c.__.some(function(l){l.__N&&(a=!0,Ne(l.__[0],l.__N[0])||(s=!0))}),r){var v=r.call(this,_,o,f);return a?v||s:v}return!a||s}}return i.__}function ut(t,e){var n=Q(F++,3);!w.__s&&Me(n.__H,e)&&(n.__P=!0,n.__=t,n.u=e,k.__H.__h.push(n))}function Ut(t,e){var n=Q(F++,4);!w.__s&&Me(n.__H,e)&&(n.__P=!1,n.__=t,n.u=e,k.__h.push(n))}function Ee(t){return K=5,R(function(){return{current:t}},[])}function R(t,e){var n=Q(F++,7);return Me(n.__H,e)&&(n.__=t(),n.__H=e),n.__}function Et(t,e){return K=8,R(function(){return t},e)}function Mt(t){var e=k.context[t.__c],n=Q(F++,9);return n.c=t,e?(n.__==null&&(n.__=!0,e.sub(k)),e.props.value):t.__}function At(){var t;do{for(;t=$e.shift();)try{Z(t)}catch(n){w.__e(n,{__:(t=t.__P)&&t.__v})}for(;t=rt.shift();){var e=t.__H;if(t.__P&&e)try{e.__h.some(Z),e.__h.some(Ue),e.__h=[]}catch(n){e.__h=[],w.__e(n,t.__v)}}}while($e.length)}w.__b=function(t){k=null,Xe&&Xe(t)},w.__=function(t,e){t&&e.__k&&e.__k.__m&&(t.__m=e.__k.__m),it&&it(t,e)},w.__r=function(t){Ye&&Ye(t),F=0;var e=(k=t.__c).__H;e&&(Te==k?k.__h=[]:(e.__h.some(Z),e.__h.some(Ue),F=0),e.__h=[],e.__.some(function(n){n.__N&&(n.__=n.__N),n.u=n.__N=void 0})),Te=k},w.diffed=function(t){et&&et(t);var e=t.__c;e&&e.__H&&(e.__H.__h.length&&ot(rt.push(e)),e.__H.__.some(function(n){n.u&&(n.__H=n.u)})),Te=k=null},w.__c=function(t,e){e.some(function(n){try{n.__h.some(Z),n.__h=n.__h.filter(function(i){return!i.__||Ue(i)})}catch(i){n.__h=[function(){throw i}]}}),tt&&tt(t,e)},w.unmount=function(t){nt&&nt(t);var e,n,i=t.__c;i&&i.__H&&(i.__H.__.some(function(r){try{if(r.__P&&r.__c){if(n===void 0){for(n=t.__;n&&(!n.__c||!n.__c.__P);)n=n.__;n=n&&n.__c}r.__P=n,ot($e.push(r))}else Z(r)}catch(_){e=_}}),i.__H=void 0,e&&w.__e(e,i.__v))};var _t=typeof requestAnimationFrame=="function";function Ot(t){var e,n=function(){clearTimeout(i),_t&&cancelAnimationFrame(e),setTimeout(t)},i=setTimeout(n,35);_t&&(e=requestAnimationFrame(n))}function ot(t){t!=1&&Qe==w.requestAnimationFrame||((Qe=w.requestAnimationFrame)||Ot)(At)}function Z(t){var e=k,n=t.__c;typeof n=="function"&&(t.__c=void 0,n()),k=e}function Ue(t){var e=k;t.__c=t.__(),k=e}function Me(t,e){return!t||t.length!=e.length||e.some(function(n,i){return!Ne(n,t[i])})}function ft(t,e){return typeof e=="function"?e(t):e}var jt=Symbol.for("preact-signals");function pe(){if(N>1)N--;else{var t,e=!1;for((function(){var r=ae;for(ae=void 0;r!==void 0;){var _=r.S;if(_.v===r.v)for(var o=_.t;o!==void 0;o=o.x)o.i===r.i&&(o.i=_.i);r=r.o}})();Y!==void 0;){var n=Y;for(Y=void 0,ce++;n!==void 0;){var i=n.u;if(n.u=void 0,n.f&=-3,!(8&n.f)&&ct(n))try{n.c()}catch(r){e||(t=r,e=!0)}n=i}}if(ce=0,N--,e)throw t}}function he(t){if(N>0)return t();Ae=++Ht,N++;try{return t()}finally{pe()}}var X,y=void 0;function L(t){var e=y,n=X;y=void 0,X=void 0;try{return t()}finally{y=e,X=n}}var Y=void 0,N=0,ce=0,Ht=0,Ae=0,ae=void 0,le=0;function st(t){if(y!==void 0){var e=t.n;if(e===void 0||e.t!==y)return e={i:0,S:t,p:y.s,n:void 0,t:y,e:void 0,x:void 0,r:e},y.s!==void 0&&(y.s.n=e),y.s=e,t.n=e,32&y.f&&t.S(e),e;if(e.i===-1)return e.i=0,e.n!==void 0&&(e.n.p=e.p,e.p!==void 0&&(e.p.n=e.n),e.p=y.s,e.n=void 0,y.s.n=e,y.s=e),e}}function S(t,e){this.v=t,this.i=0,this.n=void 0,this.t=void 0,this.l=0,this.W=e?.watched,this.Z=e?.unwatched,this.name=e?.name}S.prototype.brand=jt;S.prototype.h=function(){return!0};S.prototype.S=function(t){var e=this,n=this.t;n!==t&&t.e===void 0&&(t.x=n,this.t=t,n!==void 0?n.e=t:L(function(){var i;(i=e.W)==null||i.call(e)}))};S.prototype.U=function(t){var e=this;if(this.t!==void 0){var n=t.e,i=t.x;n!==void 0&&(n.x=i,t.e=void 0),i!==void 0&&(i.e=n,t.x=void 0),t===this.t&&(this.t=i,i===void 0&&L(function(){var r;(r=e.Z)==null||r.call(e)}))}};S.prototype.subscribe=function(t){var e=this;return A(function(){var n=e.value;L(function(){return t(n)})},{name:"sub"})};S.prototype.valueOf=function(){return this.value};S.prototype.toString=function(){return this.value+""};S.prototype.toJSON=function(){return this.value};S.prototype.peek=function(){var t=this;return L(function(){return t.value})};Object.defineProperty(S.prototype,"value",{get:function(){var t=st(this);return t!==void 0&&(t.i=this.i),this.v},set:function(t){if(t!==this.v){if(ce>100)throw new Error("Cycle detected");(function(n){N!==0&&ce===0&&n.l!==Ae&&(n.l=Ae,ae={S:n,v:n.v,i:n.i,o:ae})})(this),this.v=t,this.i++,le++,N++;try{for(var e=this.t;e!==void 0;e=e.x)e.t.N()}finally{pe()}}}});function ee(t,e){return new S(t,e)}function ct(t){for(var e=t.s;e!==void 0;e=e.n)if(e.S.i!==e.i||!e.S.h()||e.S.i!==e.i)return!0;return!1}function at(t){for(var e=t.s;e!==void 0;e=e.n){var n=e.S.n;if(n!==void 0&&(e.r=n),e.S.n=e,e.i=-1,e.n===void 0){t.s=e;break}}}function lt(t){for(var e=t.s,n=void 0;e!==void 0;){var i=e.p;e.i===-1?(e.S.U(e),i!==void 0&&(i.n=e.n),e.n!==void 0&&(e.n.p=i)):n=e,e.S.n=e.r,e.r!==void 0&&(e.r=void 0),e=i}t.s=n}function W(t,e){S.call(this,void 0,e),this.x=t,this.s=void 0,this.g=le-1,this.f=4}W.prototype=new S;W.prototype.h=function(){if(this.f&=-3,1&this.f)return!1;if((36&this.f)==32||(this.f&=-5,this.g===le))return!0;if(this.g=le,this.f|=1,this.i>0&&!ct(this))return this.f&=-2,!0;var t=y;try{at(this),y=this;var e=this.x();(16&this.f||this.v!==e||this.i===0)&&(this.v=e,this.f&=-17,this.i++)}catch(n){this.v=n,this.f|=16,this.i++}return y=t,lt(this),this.f&=-2,!0};W.prototype.S=function(t){if(this.t===void 0){this.f|=36;for(var e=this.s;e!==void 0;e=e.n)e.S.S(e)}S.prototype.S.call(this,t)};W.prototype.U=function(t){if(this.t!==void 0&&(S.prototype.U.call(this,t),this.t===void 0)){this.f&=-33;for(var e=this.s;e!==void 0;e=e.n)e.S.U(e)}};W.prototype.N=function(){if(!(2&this.f)){this.f|=6;for(var t=this.t;t!==void 0;t=t.x)t.t.N()}};Object.defineProperty(W.prototype,"value",{get:function(){if(1&this.f)throw new Error("Cycle detected");var t=st(this);if(this.h(),t!==void 0&&(t.i=this.i),16&this.f)throw this.v;return this.v}});function V(t,e){return new W(t,e)}function pt(t){var e=t.j;if(t.j=void 0,typeof e=="function"){N++;var n=y;y=void 0;try{e()}catch(i){throw t.f&=-2,t.f|=8,Oe(t),i}finally{y=n,pe()}}}function Oe(t){for(var e=t.s;e!==void 0;e=e.n)e.S.U(e);t.x=void 0,t.s=void 0,pt(t)}function Dt(t){if(y!==this)throw new Error("Out-of-order effect");lt(this),y=t,this.f&=-2;try{8&this.f&&Oe(this)}finally{pe()}}function I(t,e){this.x=t,this.j=void 0,this.s=void 0,this.u=void 0,this.f=32,this.name=e?.name,X&&X.push(this)}I.prototype.c=function(){var t=this.S();try{if(8&this.f||this.x===void 0)return;var e=this.x();typeof e=="function"&&(this.j=e)}finally{t()}};I.prototype.S=function(){if(1&this.f)throw new Error("Cycle detected");this.f|=1,this.f&=-9,pt(this),at(this),N++;var t=y;return y=this,Dt.bind(this,t)};I.prototype.N=function(){2&this.f||(this.f|=2,this.u=Y,Y=this)};I.prototype.d=function(){this.f|=8,1&this.f||Oe(this)};I.prototype.dispose=function(){this.d()};function A(t,e){var n=new I(t,e);try{n.c()}catch(r){throw n.d(),r}var i=n.d.bind(n);return i[Symbol.dispose]=i,i}var ht,ne,ve,Ft=typeof window<"u"&&!!window.__PREACT_SIGNALS_DEVTOOLS__;var vt=[];A(function(){ht=this.N})();function B(t,e){d[t]=e.bind(null,d[t]||function(){})}function te(t){if(ve){var e=ve;ve=void 0,e()}ve=t&&t.S()}function dt(t){var e=this,n=t.data,i=mt(n);i.name="ReactiveDom",i.value=n;var r=R(function(){for(var f=e,c=e.__v;c=c.__;)if(c.__c){c.__c.__$f|=4;break}var a=V(function(){var u=i.value.value;return u===0?0:u===!0?"":u||""}),s=V(function(){return!Array.isArray(a.value)&&!be(a.value)}),v=A(function(){if(this.N=yt,s.value){var u=a.value;f.__v&&f.__v.__e&&f.__v.__e.nodeType===3&&(f.__v.__e.data=u)}}),l=e.__$u.d;return e.__$u.d=function(){v(),l.call(this)},[s,a]},[]),_=r[0],o=r[1];return _.value?o.peek():o.value}dt.displayName="ReactiveTextNode";Object.defineProperties(S.prototype,{constructor:{configurable:!0,value:J(M,null).constructor},type:{configurable:!0,value:dt},props:{configurable:!0,get:function(){var t=this;return{data:{get value(){return t.value}}}}},__b:{configurable:!0,value:1}});B("__b",function(t,e){if(te(),ne=void 0,typeof e.type=="string"){var n,i=e.props;for(var r in i)if(r!=="children"){var _=i[r];_ instanceof S&&(n||(e.__np=n={}),n[r]=_,i[r]=_.peek())}}t(e)});B("__r",function(t,e){if(t(e),e.type!==M){te();var n,i=e.__c;i&&(i.__$f&=-2,(n=i.__$u)===void 0&&(i.__$u=n=(function(r,_){var o;return A(function(){o=this},{name:_}),o.c=r,o})((function(r){return function(){var _;Ft&&((_=this.y)==null||_.call(this)),r.__$f|=1,r.setState({})}})(i),typeof e.type=="function"?e.type.displayName||e.type.name:""))),ne=i,te(n)}});B("__e",function(t,e,n,i){te(),ne=void 0,t(e,n,i)});B("diffed",function(t,e){te(),ne=void 0;var n;if(typeof e.type=="string"&&(n=e.__e)){var i=e.__np,r=e.props,_=n.U;if(_)for(var o in _){var f=_[o];f===void 0||i&&o in i||(f.d(),_[o]=void 0)}if(i){_||(_={},n.U=_);for(var c in i){var a=_[c],s=i[c];a===void 0?(a=Rt(n,c,s,r),_[c]=a):a.o(s,r)}}}t(e)});function Rt(t,e,n,i){var r=e in t&&t.ownerSVGElement===void 0,_=ee(n);return{o:function(o,f){_.value=o,i=f},d:A(function(){this.N=yt;var o=_.value.value;i[e]!==o&&(i[e]=o,r?t[e]=o:o!=null&&(o!==!1||e[4]==="-")?t.setAttribute(e,o):t.removeAttribute(e))})}}B("unmount",function(t,e){if(typeof e.type=="string"){var n=e.__e;if(n){var i=n.U;if(i){n.U=void 0;for(var r in i){var _=i[r];_&&_.d()}}}var o=e.__np;if(o){var f=e.props;for(var c in o)f[c]=o[c]}e.__np=void 0}else{var a=e.__c;if(a){a.__$f|=8;var s=a.__$u;s&&(a.__$u=void 0,s.d())}}t(e)});B("__h",function(t,e,n,i){i<3&&(e.__$f|=2),t(e,n,i)});q.prototype.shouldComponentUpdate=function(t,e){if(this.__R)return!0;var n=this.__$u,i=n&&n.s!==void 0;for(var r in e)return!0;if(this.__f||typeof this.u=="boolean"&&this.u===!0){var _=2&this.__$f;if(!(i||_||4&this.__$f)||1&this.__$f)return!0}else if(!(i||4&this.__$f)||3&this.__$f)return!0;for(var o in t)if(o!=="__source"&&t[o]!==this.props[o])return!0;for(var f in this.props)if(!(f in t))return!0;return!1};function mt(t,e){return R(function(){return ee(t,e)},[])}function Wt(t,e){var n=Ee(t);return n.current=t,ne.__$f|=4,R(function(){return V(function(){return n.current()},e)},[])}var qt=function(t){queueMicrotask(function(){queueMicrotask(t)})};function Lt(){he(function(){for(var t;t=vt.shift();)ht.call(t)})}function yt(){vt.push(this)===1&&(d.requestAnimationFrame||qt)(Lt)}var _n=Re.bind(J);export{M as Fragment,he as batch,V as computed,Tt as createContext,A as effect,J as h,_n as html,Pt as render,ee as signal,L as untracked,Et as useCallback,Wt as useComputed,Mt as useContext,ut as useEffect,Ut as useLayoutEffect,R as useMemo,Ee as useRef,mt as useSignal,Nt as useState};
